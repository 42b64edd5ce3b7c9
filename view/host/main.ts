// The page of `holdfast view`: a host for the View, and for nothing else. The View runs in a frame that shares nothing
// with this page; what it asks for comes as messages, and those that may be answered are asked of the server.

import { Client, ServerError } from "./mcp";

const TOOL = "memory_view";
const PROTOCOL = "2026-01-26";
const TOKEN = "holdfast-token";

type Message = { jsonrpc?: string; id?: number | string; method?: string; params?: Record<string, unknown> };
type Result = Record<string, unknown>;

/** The key comes behind the # of the address, which no server sees; it is kept for as long as the tab is. */
function takeToken(): string {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", location.pathname);
  }
  return given || (sessionStorage.getItem(TOKEN) ?? "");
}

function say(text: string): void {
  const line = document.createElement("p");
  line.setAttribute("role", "alert");
  line.textContent = text;
  document.getElementById("root")?.replaceChildren(line);
}

const dark = matchMedia("(prefers-color-scheme: dark)");

const context = (): Result => ({
  theme: dark.matches ? "dark" : "light",
  displayMode: "fullscreen",
  availableDisplayModes: ["fullscreen"],
  locale: navigator.language,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  platform: "web",
});

class Host {
  private readonly frame = document.createElement("iframe");
  private readonly handlers: Record<string, (params: Record<string, unknown>) => Promise<Result>> = {
    "ui/initialize": async () => ({
      protocolVersion: PROTOCOL,
      hostInfo: { name: "holdfast view", version: "1" },
      hostCapabilities: { serverTools: {} },
      hostContext: context(),
    }),
    "ui/request-display-mode": async () => ({ mode: "fullscreen" }),
    "tools/call": (params) => this.client.request("tools/call", { name: params.name, arguments: params.arguments ?? {} }),
    ping: async () => ({}),
  };

  constructor(private readonly client: Client) {}

  async open(): Promise<void> {
    const opened = this.client.request("tools/call", { name: TOOL, arguments: {} });
    const tools = (await this.client.request("tools/list", {})).tools as { name: string; _meta?: { ui?: { resourceUri?: string } } }[];
    const uri = tools.find((tool) => tool.name === TOOL)?._meta?.ui?.resourceUri;
    if (!uri) throw new ServerError("The server does not offer the View.");
    const page = (await this.client.request("resources/read", { uri })).contents as { text?: string }[];
    addEventListener("message", (event: MessageEvent<Message>) => {
      if (event.source === this.frame.contentWindow) void this.hear(event.data, opened);
    });
    dark.addEventListener("change", () => this.post({ method: "ui/notifications/host-context-changed", params: context() }));
    this.frame.setAttribute("sandbox", "allow-scripts");
    this.frame.setAttribute("title", "The View of the memory");
    this.frame.srcdoc = page[0]?.text ?? "";
    document.getElementById("root")?.replaceChildren(this.frame);
  }

  private async hear(message: Message, opened: Promise<Result>): Promise<void> {
    if (message?.jsonrpc !== "2.0" || typeof message.method !== "string") return;
    if (message.id === undefined) {
      if (message.method === "ui/notifications/initialized") {
        this.post({ method: "ui/notifications/tool-input", params: { arguments: {} } });
        this.post({ method: "ui/notifications/tool-result", params: await opened });
      }
      return;
    }
    const handler = this.handlers[message.method];
    if (!handler) {
      this.post({ id: message.id, error: { code: -32601, message: "This host does not do that." } });
      return;
    }
    try {
      this.post({ id: message.id, result: await handler(message.params ?? {}) });
    } catch (error) {
      const text = error instanceof ServerError ? error.message : "The server cannot be reached: it ended with its terminal.";
      this.post({ id: message.id, error: { code: -32603, message: text } });
    }
  }

  private post(message: Record<string, unknown>): void {
    this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*"); // a frame without an origin has no name
  }
}

const token = takeToken();
if (!token) say("Run holdfast view in a terminal: it opens this page with its key.");
else {
  new Host(new Client("/mcp", token)).open().catch((error: unknown) => {
    say(error instanceof ServerError ? error.message : "The server cannot be reached: it ends with its terminal.");
  });
}
