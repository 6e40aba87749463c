// A library on the TypeScript SDK: good tools, tools with one defect each, and writes, which are listed in LOG.
// `node library.cjs FOLDER LOG`: FOLDER has the packages.
const { createRequire } = require("node:module")
const { appendFileSync } = require("node:fs")
const [folder, log] = process.argv.slice(2)
const installed = createRequire(`${folder}/`)
const { Server } = installed("@modelcontextprotocol/sdk/server/index.js")
const { StdioServerTransport } = installed("@modelcontextprotocol/sdk/server/stdio.js")
const types = installed("@modelcontextprotocol/sdk/types.js")

const reads = { readOnlyHint: true }
const genre = { type: "string", enum: ["crime", "poetry", "travel"] }
const limit = { type: "integer", minimum: 1, maximum: 20 }
const book = { type: "string", pattern: "^book-[0-9]{3}$", examples: ["book-001"] }
const object = (properties, required = [], more = {}) =>
  ({ type: "object", properties, required, additionalProperties: false, ...more })

const accepted = (part) => {
  if (part.enum) return `one of ${part.enum.map((one) => JSON.stringify(one)).join(", ")}`
  if (part.type === "integer") return `an integer from ${part.minimum} to ${part.maximum}`
  if (part.pattern) return `a string like ${part.examples[0]} (${part.pattern})`
  return `a ${part.type}`
}
const fits = (value, part) => {
  if (part.type === "integer") return Number.isInteger(value) && value >= part.minimum && value <= part.maximum
  if (typeof value !== part.type) return false
  return (!part.enum || part.enum.includes(value)) && (!part.pattern || new RegExp(part.pattern).test(value))
}
// What is wrong, as the good tools say it: JSON with one entry a field.
const wrong = (schema, given) => {
  const known = schema.properties
  const found = schema.required.filter((name) => !(name in given)).map((name) => ({ field: name, problem: "is missing" }))
  for (const [name, value] of Object.entries(given)) {
    if (!(name in known)) {
      if (schema.additionalProperties === false) found.push({ field: name.slice(0, 60), problem: "is not a parameter" })
    } else if (!fits(value, known[name])) found.push({ field: name, problem: "has a wrong value" })
  }
  return found.map((one) => ({ ...one, accepted: known[one.field] ? accepted(known[one.field]) : Object.keys(known) }))
}
const failed = (code, message, more = {}) =>
  ({ isError: true, content: [{ type: "text", text: JSON.stringify({ error: { code, message, ...more } }) }] })
const refused = (name, schema, fields) => {
  const parts = Object.entries(schema.properties).map(([key, part]) => `${key}: ${accepted(part)}`)
  const said = fields.map((one) => `${one.field} ${one.problem}`).join("; ")
  return failed("INVALID_ARGUMENTS", `${said}. Call ${name} again with ${parts.join(", ") || "no arguments"}.`, { fields })
}
const found = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] })
const wrote = (name) => () => { appendFileSync(log, `${name}\n`); return found({ done: name }) }
const noBook = (id) => failed("NO_SUCH_BOOK", `There is no book ${id}.`, { next: { tool: "list_books", arguments: {} } })

const tools = {
  list_books: { about: "List the books.", schema: object({}), run: () => found({ books: ["book-001", "book-002"] }) },
  get_book: {
    about: "Return a book by its id, as list_books lists them.", schema: object({ book_id: book }, ["book_id"]),
    run: ({ book_id }) => (["book-001", "book-002"].includes(book_id) ? found({ book_id, title: "Tea" }) : noBook(book_id)),
  },
  search_books: {
    about: "Search the books of a genre.", schema: object({ genre, limit }, ["genre"]),
    run: ({ genre: of, limit: most = 5 }) => found({ genre: of, books: ["book-001", "book-002"].slice(0, most) }),
  },
  tag_search: {
    about: "Search by tags: any parameter is a tag, its value what the tag has to be.",
    schema: object({}, [], { additionalProperties: true }), run: (given) => found({ tags: given, books: [] }),
  },
  // One defect each from here.
  count_loans: {
    about: "Count the loans of a genre.", schema: object({ genre, limit }, ["genre"]),
    refuse: (fields) => {
      const [{ field, accepted: one }] = fields
      throw new types.McpError(types.ErrorCode.InvalidParams, `${field} is wrong, accepted: ${one}. Call count_loans again.`)
    },
    run: ({ genre: of }) => found({ genre: of, loans: 7 }),
  },
  find_shelf: {
    about: "Find the shelf of a genre.", schema: object({ genre, floor: { type: "integer", minimum: 0, maximum: 4 } }, []),
    run: ({ genre: of, floor }) => {
      const schema = object({ genre, floor: tools.find_shelf.schema.properties.floor }, ["genre", "floor"])
      const fields = wrong(schema, { ...(of && { genre: of }), ...(floor !== undefined && { floor }) })
      return fields.length ? refused("find_shelf", schema, fields) : found({ genre: of, shelf: `${floor}-12` })
    },
  },
  find_author: {
    about: "Find the books of an author.", schema: object({ author_id: { ...book, pattern: "^author-[0-9]{3}$", examples: ["author-001"] } }, ["author_id"]),
    run: ({ author_id }) => {
      if (author_id === "author-001") return found({ author_id, books: ["book-001"] })
      const all = Array.from({ length: 120_000 }, (_, at) => `author-${String(at).padStart(6, "0")}`).join(", ")
      return failed("NO_SUCH_AUTHOR", `There is no author ${author_id}. Call find_author again with one of: author-001, ${all}`)
    },
  },
  read_abstract: {
    about: "Read the abstract of a book.", schema: object({ book_id: book, lines: limit }, ["book_id"]),
    refuse: (fields) => (fields.some((one) => one.field === "lines") ? process.exit(3) : null),
    run: ({ book_id }) => (book_id === "book-001" ? found({ book_id, text: "About tea." }) : noBook(book_id)),
  },
  read_preface: {
    about: "Read the preface of a book.", schema: object({ book_id: book, lines: limit }, ["book_id"]),
    refuse: (fields) => (fields.some((one) => one.field === "lines") ? new Promise(() => {}) : null),
    run: ({ book_id }) => (book_id === "book-001" ? found({ book_id, text: "On tea." }) : noBook(book_id)),
  },
  // None of these is ever to be called: they write.
  get_bok: { about: "Reserve a book.", schema: object({ book_id: book }, ["book_id"]), hints: { readOnlyHint: false }, run: wrote("get_bok") },
  get_books: { about: "Order books.", schema: object({ book_id: book }, ["book_id"]), hints: {}, run: wrote("get_books") },
  remove_book: {
    about: "Remove a book.", schema: object({ book_id: book }, ["book_id"]), hints: { destructiveHint: true }, run: wrote("remove_book"),
  },
  // Its advice names a write, which nobody may follow unasked.
  get_loan: {
    about: "Return a loan by its id.", schema: object({ loan_id: { ...book, pattern: "^loan-[0-9]{3}$", examples: ["loan-001"] } }, ["loan_id"]),
    run: ({ loan_id }) => (loan_id === "loan-001" ? found({ loan_id, book_id: "book-001" })
      : failed("NO_SUCH_LOAN", `There is no loan ${loan_id}.`, { next: { tool: "remove_book", arguments: { book_id: "book-001" } } })),
  },
}

const server = new Server({ name: "typescript-library", version: "1.0.0" }, { capabilities: { tools: {} } })
server.setRequestHandler(types.ListToolsRequestSchema, () => ({
  tools: Object.entries(tools).map(([name, { about, schema, hints = reads }]) =>
    ({ name, description: about, inputSchema: schema, annotations: hints })),
}))
server.setRequestHandler(types.CallToolRequestSchema, async ({ params: { name, arguments: given = {} } }) => {
  const tool = tools[name]
  if (!tool) throw new types.McpError(types.ErrorCode.InvalidParams, `There is no tool ${name.slice(0, 60)}. Call one of ${Object.keys(tools).join(", ")}.`)
  const fields = wrong(tool.schema, given)
  if (fields.length === 0) return tool.run(given)
  return (await tool.refuse?.(fields)) ?? refused(name, tool.schema, fields)
})
server.connect(new StdioServerTransport())
