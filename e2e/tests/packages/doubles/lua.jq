# SPDX-License-Identifier: GPL-2.0-or-later
# Converts JSON to a Lua file that returns the value.
def lua:
    if type == "object" then
        "{" + (to_entries | map("[" + (.key | tojson) + "]=" + (.value | lua)) | join(",")) + "}"
    elif type == "array" then "{" + (map(lua) | join(",")) + "}"
    else tojson end;
"return " + lua
