// Calls of the server's tools through the host, and what the host says of itself.

import { App, applyDocumentTheme, applyHostStyleVariables } from "@modelcontextprotocol/ext-apps";
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps";

/** A tool refused, in the server's own words. */
export class Refusal extends Error {}

/** What a tool answered: `data` is undefined where the host's client gets text alone. */
export interface Answer<Data> {
  data: Data | undefined;
  text: string;
}

type Arguments = Record<string, unknown>;

export class Server {
  private readonly app = new App({ name: "holdfast-view", version: "1" }, {}, { autoResize: true });

  /** Connect to the host. `opened` is told what the View is to begin with, once that is known. */
  async connect(opened: (given: Record<string, unknown>) => void): Promise<void> {
    this.app.ontoolresult = (result) => opened((result.structuredContent ?? {}) as Arguments);
    this.app.onhostcontextchanged = (context) => this.adapt(context);
    await this.app.connect();
    const context = this.app.getHostContext();
    if (context) this.adapt(context);
  }

  async call<Data>(name: string, given: Arguments = {}): Promise<Answer<Data>> {
    const result = await this.app.callServerTool({ name, arguments: given });
    const text = (result.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("\n");
    if (result.isError) throw new Refusal(text || "The server refused, and did not say why.");
    return { data: result.structuredContent as Data | undefined, text };
  }

  /** As `call`, for the View's own tools, which always answer with data. */
  async read<Data>(name: string, given: Arguments = {}): Promise<Data> {
    const { data } = await this.call<Data>(name, given);
    if (data === undefined) throw new Refusal("The host left out the answer's data, so there is nothing to show.");
    return data;
  }

  /** Let the model know what the user did; ids alone, for what notes say is data. */
  async tellModel(text: string): Promise<void> {
    if (!this.app.getHostCapabilities()?.updateModelContext) return;
    await this.app.updateModelContext({ content: [{ type: "text", text }] });
  }

  get canFill(): boolean {
    const context = this.app.getHostContext();
    return (context?.availableDisplayModes ?? []).includes("fullscreen") && context?.displayMode !== "fullscreen";
  }

  async fill(): Promise<void> {
    await this.app.requestDisplayMode({ mode: "fullscreen" });
  }

  private adapt(context: Partial<McpUiHostContext>): void {
    if (context.theme) applyDocumentTheme(context.theme);
    if (context.styles?.variables) applyHostStyleVariables(context.styles.variables);
    const inset = context.safeAreaInsets;
    if (inset) document.body.style.padding = `${inset.top}px ${inset.right}px ${inset.bottom}px ${inset.left}px`;
  }
}
