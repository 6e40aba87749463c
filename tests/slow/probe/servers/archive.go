// Command archive is an MCP server over stdio in Go without an SDK: one good tool, and tools with one defect each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version   string         `json:"protocolVersion"`
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"params"`
}

type tool struct {
	about, schema string
	run           func(map[string]any) (string, bool)
}

const text = `{"type":"object","properties":{"label":{"type":"string","examples":["tea"]}},"required":["label"]}`
const count = `{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":9}},"required":["limit"]}`
const none = `{"type":"object","properties":{},"additionalProperties":false}`

var tools = map[string]tool{
	"list_boxes": {"List the boxes.", none, func(given map[string]any) (string, bool) {
		for name := range given {
			return fmt.Sprintf("There is no parameter %q, list_boxes has none. Call list_boxes {}.", name), true
		}
		return `["tea","coffee"]`, false
	}},
	// Recovers from a panic, and shows where it was.
	"get_box": {"Return a box by its label, as list_boxes lists them.", text, func(given map[string]any) (said string, failed bool) {
		defer func() {
			if cause := recover(); cause != nil {
				said, failed = fmt.Sprintf("label is a string. Call get_box again. %v\n%s", cause, debug.Stack()), true
			}
		}()
		return known(given["label"].(string), "Call list_boxes {} for all labels.")
	}},
	// Shows the path of its data.
	"find_box": {"Find a box by its label, as list_boxes lists them.", text, func(given map[string]any) (string, bool) {
		label, isText := given["label"].(string)
		if !isText {
			return "label is missing or not a string. Call find_box again with label, a string.", true
		}
		return known(label, "Call list_boxes {} for all labels. (open /home/deploy/archive/index.json)")
	}},
	// Ends with a panic where the limit is no number.
	"count_boxes": {"Count boxes.", count, func(given map[string]any) (string, bool) {
		limit := given["limit"].(float64)
		if limit < 1 || limit > 9 {
			return "limit is an integer from 1 to 9. Call count_boxes again with such a limit.", true
		}
		return fmt.Sprintf(`{"count":%v}`, limit), false
	}},
}

func known(label, next string) (string, bool) {
	if label != "tea" && label != "coffee" {
		return fmt.Sprintf("There is no box %.60q. %s", label, next), true
	}
	return fmt.Sprintf(`{"label":%q}`, label), false
}

func answer(asked request) (any, any) {
	switch asked.Method {
	case "initialize":
		info := map[string]any{"name": "go-archive", "version": "1.0.0"}
		can := map[string]any{"tools": map[string]any{}}
		return map[string]any{"protocolVersion": asked.Params.Version, "capabilities": can, "serverInfo": info}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		listed := []any{}
		for _, name := range []string{"list_boxes", "get_box", "find_box", "count_boxes"} {
			listed = append(listed, map[string]any{"name": name, "description": tools[name].about,
				"inputSchema": json.RawMessage(tools[name].schema), "annotations": map[string]any{"readOnlyHint": true}})
		}
		return map[string]any{"tools": listed}, nil
	case "tools/call":
		if one, ok := tools[asked.Params.Name]; ok {
			said, failed := one.run(asked.Params.Arguments)
			return map[string]any{"isError": failed, "content": []any{map[string]any{"type": "text", "text": said}}}, nil
		}
		return nil, map[string]any{"code": -32602, "message": "unknown tool"}
	}
	return nil, map[string]any{"code": -32601, "message": "method not found"}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<16), 1<<26)
	for lines.Scan() {
		var asked request
		if json.Unmarshal(lines.Bytes(), &asked) != nil || asked.ID == nil {
			continue
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": asked.ID}
		if result, failure := answer(asked); failure != nil {
			reply["error"] = failure
		} else {
			reply["result"] = result
		}
		line, _ := json.Marshal(reply)
		fmt.Println(string(line))
	}
}
