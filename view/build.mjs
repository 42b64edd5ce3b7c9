// Builds the two pages that the package brings, each one file without anything to fetch:
//   ../server/holdfast/tools/view/view.html   the View, an MCP App
//   ../server/holdfast/viewing/host.html      the page of `holdfast view`, which shows the View in a browser
// The same sources and the same lock give the same bytes; `node build.mjs --check` says whether they do.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const server = join(here, "..", "server", "holdfast");
const MOST_BYTES = 300_000; // of the View, compressed

async function bundled(entry) {
  const result = await esbuild.build({
    entryPoints: [join(here, entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return { script: result.outputFiles[0].text.trim(), packages: packagesOf(result.metafile) };
}

async function styled(entry) {
  const result = await esbuild.build({ entryPoints: [join(here, entry)], minify: true, write: false, charset: "ascii" });
  return result.outputFiles[0].text.trim();
}

function packagesOf(metafile) {
  const names = Object.keys(metafile.inputs).flatMap((path) => {
    const found = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    return found ? [found[1]] : [];
  });
  return [...new Set(names)].sort();
}

function noticesOf(packages) {
  const texts = packages.map((name) => {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((each) => join(folder, each)).find(existsSync);
    if (!file) throw new Error(`${name} has no licence text`);
    return `${name} ${about.version} (${about.license})\n\n${readFileSync(file, "utf-8").trim()}`;
  });
  return texts.join(`\n\n${"-".repeat(80)}\n\n`).replaceAll("-->", "-- >");
}

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function page({ title, policy, style, script, notices }) {
  const whole = [
    "<!doctype html>",
    notices && `<!--\nThis page contains these packages, under their licences:\n\n${notices}\n-->`,
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title>`,
    `<style>${style}</style>`,
    "</head>",
    '<body><div id="root"></div>',
    `<script>${script}</script>`,
    "</body>",
    "</html>",
    "",
  ];
  return whole.filter((line) => line !== "" || true).filter(Boolean).join("\n") + "\n";
}

const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'";
const view = await bundled("src/main.tsx");
const viewStyle = await styled("src/style.css");
const viewHashes = { script: hashOf(view.script), style: hashOf(viewStyle) };
const host = await bundled("host/main.ts");
const hostStyle = await styled("host/style.css");

if (/<\/script/i.test(view.script) || /<\/script/i.test(host.script)) throw new Error("a script would end early");

const pages = {
  [join(server, "tools", "view", "view.html")]: page({
    title: "Holdfast",
    policy: `${NOTHING}; script-src ${viewHashes.script}; style-src ${viewHashes.style}`,
    style: viewStyle,
    script: view.script,
    notices: noticesOf(view.packages),
  }),
  // A frame made of text obeys the policy of the page that made it as well as its own.
  [join(server, "viewing", "host.html")]: page({
    title: "Holdfast",
    policy:
      `${NOTHING}; connect-src 'self'; script-src ${hashOf(host.script)} ${viewHashes.script}; ` +
      `style-src ${hashOf(hostStyle)} ${viewHashes.style}`,
    style: hostStyle,
    script: host.script,
    notices: host.packages.length ? noticesOf(host.packages) : "",
  }),
};

let differs = false;
for (const [path, text] of Object.entries(pages)) {
  const size = gzipSync(text, { level: 9 }).length;
  console.log(`${path.slice(server.length + 1)}: ${text.length} bytes, ${size} compressed`);
  if (size > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes compressed`);
  if (process.argv.includes("--check")) {
    if (!existsSync(path) || readFileSync(path, "utf-8") !== text) {
      console.error(`${path} is not what its sources make: run npm run build in view/`);
      differs = true;
    }
  } else writeFileSync(path, text);
}
process.exit(differs ? 1 : 0);
