-- SPDX-License-Identifier: GPL-2.0-or-later
-- exporter.lua COLLECTOR ANSWER [GLOBAL]: runs a collector with the globals of
-- prometheus-node-exporter-lua: `metric`, and the file `out` or the function `output` of older
-- versions. Like the original, prints labels and values verbatim, and survives errors of the
-- collector. Module `ubus` answers `fastpath metrics` with the Lua table in file ANSWER, or fails
-- without the file.

local collector, answer = arg[1], arg[2]
local connection = {}

function connection:call(object, method, arguments)
  assert(object == "fastpath" and method == "metrics" and next(arguments) == nil)
  local read = loadfile(answer)
  if not read then
    return nil, 4
  end
  return read()
end

function connection:close()
  self.closed = true
end

package.preload.ubus = function()
  return { connect = function() return connection end }
end

if arg[3] == "output" then
  output = print
else
  out = io.stdout
end

function metric(name, kind)
  io.write(("# TYPE %s %s\n"):format(name, kind))
  return function(labels, value)
    local texts = {}
    for label, text in pairs(labels or {}) do
      texts[#texts + 1] = label .. '="' .. text .. '"'
    end
    table.sort(texts)
    local list = #texts > 0 and "{" .. table.concat(texts, ",") .. "}" or ""
    io.write(name .. list .. " ", value, "\n")
  end
end

local good, why = pcall(dofile(collector).scrape)
assert(connection.closed, "the connection is open")
if not good then
  io.stderr:write(why .. "\n")
  os.exit(1)
end
