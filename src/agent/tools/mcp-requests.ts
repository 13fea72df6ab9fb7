/**
 * What goes on beside a call: its progress, and the requests that an MCP server may send to its client, with the
 * capabilities that tell the server so.
 */
import type {
  Client,
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from '@modelcontextprotocol/client';

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** How a call is made. */
export interface McpCallOptions {
  /** Aborted to cancel the call at the server. The server gets the reason's text. */
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
  /** Called when the call is sent. If it runs as a task, called again with the id of the task. */
  begun(taskId?: string): void;
}

/** A folder that a server may learn of. */
export interface McpRoot {
  /** A `file:` URI. */
  readonly uri: string;
  readonly name?: string;
}

/** Answers the requests of a server. A signal is aborted when the server no longer waits for the answer. */
export interface ServerRequests {
  readonly roots: readonly McpRoot[] | undefined;
  readonly elicit: (params: ElicitRequestParams, signal: AbortSignal) => Promise<ElicitResult>;
  /** Undefined if the server cannot use a model. */
  readonly sample:
    | ((params: CreateMessageRequestParams, signal: AbortSignal) => Promise<CreateMessageResult>)
    | undefined;
}

export function capabilitiesFor({ roots, sample }: ServerRequests): ClientCapabilities {
  return {
    elicitation: { form: {}, url: {} },
    ...(roots && { roots: {} }),
    ...(sample && { sampling: {} }),
  };
}

export function answerRequests(client: Client, { roots, elicit, sample }: ServerRequests): void {
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
    elicit(params, mcpReq.signal),
  );
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: [...roots] }));
  if (sample) {
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) =>
      sample(params, mcpReq.signal),
    );
  }
}
