-- SPDX-License-Identifier: GPL-2.0-or-later
-- Collector of prometheus-node-exporter-lua: prints the answer of `ubus call fastpath metrics`.
-- Values are strings, because Lua numbers would lose digits. The exporter provides the globals
-- `metric` and `out` (`output` in older versions).

local ubus = require "ubus"

-- The daemon answers within milliseconds; Prometheus' timeout is ten seconds.
local TIMEOUT_S = 5

-- The exporter does not escape label values, and hosts choose their own names.
local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n", ['"'] = '\\"' }

local function escaped(labels)
  local texts
  for name, text in pairs(labels) do
    texts = texts or {}
    texts[name] = text:gsub('[\\\n"]', ESCAPES)
  end
  return texts
end

local function answer()
  local connection = ubus.connect(nil, TIMEOUT_S)
  if not connection then
    error("fastpath: no connection to ubusd", 0)
  end
  local metrics, status = connection:call("fastpath", "metrics", {})
  connection:close()
  if not metrics then
    error("fastpath: ubus call fastpath metrics: status " .. tostring(status), 0)
  end
  return metrics
end

local function line(text)
  if out then
    out:write(text, "\n")
  else
    output(text)
  end
end

-- An error fails only this collector: the exporter reports node_scrape_collector_success 0.
local function scrape()
  for _, family in ipairs(answer().families) do
    line("# HELP " .. family.name .. " " .. family.help:gsub("[\\\n]", ESCAPES))
    local add = metric(family.name, family.type)
    for _, sample in ipairs(family.samples) do
      add(escaped(sample.labels), sample.value)
    end
  end
end

return { scrape = scrape }
