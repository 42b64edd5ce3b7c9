// An MCP client for a server of the 2026-07-28 protocol: each request stands by itself.

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol";
const CLIENT = { name: "holdfast-view", version: "1" };
const CAPABILITIES = { extensions: { [`${META}/ui`]: { mimeTypes: ["text/html;profile=mcp-app"] } } };

/** The server answered with an error of the protocol, or not at all. */
export class ServerError extends Error {}

export class Client {
  private last = 0;

  constructor(
    private readonly address: string,
    private readonly token: string,
  ) {}

  async request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const id = ++this.last;
    const meta = {
      [`${META}/protocolVersion`]: VERSION, [`${META}/clientInfo`]: CLIENT, [`${META}/clientCapabilities`]: CAPABILITIES,
    };
    const named = params.name ?? params.uri;
    const response = await fetch(this.address, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        Authorization: `Bearer ${this.token}`,
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        ...(typeof named === "string" ? { "Mcp-Name": named } : {}),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } }),
      credentials: "omit",
      redirect: "error",
    });
    if (response.status === 401) throw new ServerError("The key of this page is not valid: run holdfast view again.");
    const answer = (await response.json()) as { result?: Record<string, unknown>; error?: { message?: string } };
    if (answer.result) return answer.result;
    throw new ServerError(answer.error?.message ?? `The server answered with ${response.status}.`);
  }
}
