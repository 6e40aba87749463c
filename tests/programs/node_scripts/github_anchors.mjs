// Prints the anchors that GitHub gives the headings of pages: a JSON object of the same keys as that of the file named.
import { readFileSync } from "node:fs";
import Slugger from "github-slugger";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toString } from "mdast-util-to-string";
import { gfm } from "micromark-extension-gfm";
import { visit } from "unist-util-visit";

const anchors = {};
for (const [page, text] of Object.entries(JSON.parse(readFileSync(process.argv[2], "utf8")))) {
  const slugger = new Slugger();
  const tree = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  anchors[page] = [];
  visit(tree, "heading", (heading) => {
    anchors[page].push(slugger.slug(toString(heading, { includeImageAlt: false, includeHtml: false })));
  });
}
console.log(JSON.stringify(anchors));
