/**
 * What goes on beside a call: its progress, and the requests that an MCP server may send to its client, with the
 * capabilities that tell the server so.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
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

/** Where a request of a server comes from. */
export interface RequestOrigin {
  /** Aborted when the server no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** The call to which the request belongs, if this is known. */
  readonly call: McpCallOptions | undefined;
}

/** Answers the requests of a server. */
export interface ServerRequests {
  readonly roots: readonly McpRoot[] | undefined;
  readonly elicit: (params: ElicitRequestParams, context: RequestOrigin) => Promise<ElicitResult>;
  /** Undefined if the server cannot use a model. */
  readonly sample:
    | ((params: CreateMessageRequestParams, context: RequestOrigin) => Promise<CreateMessageResult>)
    | undefined;
}

/**
 * The call in whose stream a message arrives. MCP does not say to which call a request of the server belongs, but with
 * Streamable HTTP the server sends the request in the response to the call.
 */
const current = new AsyncLocalStorage<McpCallOptions | undefined>();

/** Makes a call, so that requests in its response are known to belong to it. */
export function inCall<T>(call: McpCallOptions, make: () => Promise<T>): Promise<T> {
  return current.run(call, make);
}

/** Connects outside of any call, because a connection is used for many calls. */
export function outsideCalls<T>(connect: () => Promise<T>): Promise<T> {
  return current.run(undefined, connect);
}

export function capabilitiesFor({ roots, sample }: ServerRequests): ClientCapabilities {
  return {
    elicitation: { form: {}, url: {} },
    ...(roots && { roots: {} }),
    ...(sample && { sampling: {} }),
  };
}

export function answerRequests(client: Client, { roots, elicit, sample }: ServerRequests): void {
  const originOf = (signal: AbortSignal): RequestOrigin => ({ signal, call: current.getStore() });
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
    elicit(params, originOf(mcpReq.signal)),
  );
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: [...roots] }));
  if (sample) {
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) =>
      sample(params, originOf(mcpReq.signal)),
    );
  }
}
