/**
 * The progress of a call, and the requests that an MCP server may send to its client. The capabilities tell the server
 * which of these requests are supported.
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

/** The options of a call. */
export interface McpCallOptions {
  /** The signal that cancels the call at the server. The server gets the text of the abort reason. */
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
  /**
   * Called when the call is sent. If the call runs as a task, this function is called again with the task's id when the
   * server has created the task, and after each report of its status.
   */
  begun(taskId?: string): void;
}

/** A folder that is disclosed to a server. */
export interface McpRoot {
  /** The folder as a `file:` URI. */
  readonly uri: string;
  readonly name?: string;
}

/** The origin of a server's request. */
export interface RequestOrigin {
  /** The signal that is aborted when the server no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** The call to which the request belongs, or undefined if this is unknown. */
  readonly call: McpCallOptions | undefined;
}

/**
 * Answers the requests of a server.
 *
 * @internal
 */
export interface ServerRequests {
  readonly roots: readonly McpRoot[] | undefined;
  readonly elicit: (params: ElicitRequestParams, context: RequestOrigin) => Promise<ElicitResult>;
  /** Returns an answer of the model (MCP's sampling). Undefined if the server cannot use a model. */
  readonly sample:
    | ((params: CreateMessageRequestParams, context: RequestOrigin) => Promise<CreateMessageResult>)
    | undefined;
}

/**
 * The call to which the server's current request belongs. The request itself does not always name the call. With
 * Streamable HTTP, the call is known because the server sends its requests in the HTTP response to the call. With other
 * transports, the value is undefined.
 */
const current = new AsyncLocalStorage<McpCallOptions | undefined>();

/** Makes a call. If the response contains requests of the server, they are assigned to this call. */
export function inCall<T>(call: McpCallOptions, make: () => Promise<T>): Promise<T> {
  return current.run(call, make);
}

/**
 * Connects without a current call, so that later requests of the server are not assigned to the call that opened the
 * connection.
 */
export function outsideCalls<T>(connect: () => Promise<T>): Promise<T> {
  return current.run(undefined, connect);
}

/** @internal */
export function capabilitiesFor({ roots, sample }: ServerRequests): ClientCapabilities {
  return {
    elicitation: { form: {}, url: {} },
    ...(roots && { roots: {} }),
    ...(sample && { sampling: {} }),
  };
}

/** @internal */
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
