/**
 * The access of this page to the agent that it inspects. The Content-Security-Policy of the page allows requests only
 * to the page's own server. That server is the agent or the gateway itself, or it is `parley inspect`, which forwards
 * the requests to the agent.
 */
import * as z from 'zod';
import { type AgentCheck, EXPLANATIONS, type ProblemName } from '../../../client/checks/index.ts';
import { ConnectionError, hasOriginOf, type HeaderSource } from '../../../client/index.ts';
import { A2AError, type AgentInterface } from '../../../protocol/index.ts';
import { RelayLine, RelayState } from '../../inspector/relay-format.ts';
import { headersOf, type Server } from '../server/server.ts';
import { leaveIfRefused } from '../server/sign-in.ts';

/** A response, and all of its headers that this page can know. `Response` hides some headers, such as Set-Cookie. */
export interface SentResponse {
  readonly response: Response;
  readonly headers: readonly (readonly [string, string])[];
}

export interface AgentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface AgentAccess {
  /** The address of the agent. */
  readonly address: string;
  /** Headers with the key of the person who is signed in. A header of the same name that the person enters wins. */
  readonly keyHeaders: Readonly<Record<string, string>>;
  /** The names of headers that the server adds. The page does not know their values. */
  readonly addedHeaders: readonly string[];
  /** Returns whether requests to the address may have `keyHeaders` and the headers that the person has entered. */
  trusts(url: string): boolean;
  /** Sends a request. Throws a ConnectionError `untrusted` if requests to this address are not allowed. */
  send(request: AgentRequest): Promise<SentResponse>;
  /**
   * Asks the server to check a gRPC interface, because a browser cannot use gRPC. Undefined if the server cannot check
   * it.
   */
  readonly tryGrpc:
    | ((
        offer: AgentInterface,
        cardUrl: string,
        headers: HeaderSource | undefined,
      ) => Promise<AgentCheck>)
    | undefined;
  /** Allows requests to another origin. Undefined if this page can never send requests to other origins. */
  readonly agree: ((origin: string) => Promise<void>) | undefined;
}

/** Returns the access to the server of this page, or to an agent behind it. */
export function directAccess(server: Server, agent: string): AgentAccess {
  const isOwn = (url: string) => new URL(url).origin === location.origin;
  return {
    address: `${server.url}${server.pathOf(agent)}/`,
    keyHeaders: headersOf(server.key),
    addedHeaders: [],
    trusts: isOwn,
    tryGrpc: undefined,
    agree: undefined,
    async send({ url, body, signal, method, headers }) {
      if (!isOwn(url)) {
        const { origin } = new URL(url);
        throw new ConnectionError('untrusted', `${origin} is not the server of this page`);
      }
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        credentials: 'omit',
        cache: 'no-store',
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      });
      return { response, headers: [...response.headers] };
    },
  };
}

const CheckAnswer = z.object({
  name: z.string(),
  status: z.enum(['ok', 'warning', 'broken']),
  message: z.string(),
  problem: z.custom<ProblemName>((name) => Object.hasOwn(EXPLANATIONS, String(name))).optional(),
  origin: z.string().optional(),
});

/**
 * Returns the access to the agent that `parley inspect` was started for. `parley inspect` forwards the requests to it.
 */
export async function relayedAccess(server: Server): Promise<AgentAccess> {
  let state = await server.json(RelayState, '/inspector');
  return {
    address: state.url,
    keyHeaders: {},
    addedHeaders: state.headers,
    trusts: (url) => hasOriginOf(state.trusted, url),
    tryGrpc: (offer, cardUrl, headers) =>
      server.json(CheckAnswer, '/inspector/checks', {
        method: 'POST',
        body: { interface: offer, cardUrl, headers },
      }),
    async agree(origin) {
      const body = { origin };
      state = await server.json(RelayState, '/inspector/origins', { method: 'POST', body });
    },
    async send({ headers, signal, ...request }) {
      const { origin } = new URL(request.url);
      if (!hasOriginOf(state.trusted, request.url) && !state.agreed.includes(origin)) {
        throw new ConnectionError('untrusted', `${origin} is not the agent's origin`);
      }
      const body = { ...request, headers: Object.fromEntries(headers) };
      let answer: Response;
      try {
        const options = { method: 'POST', body, signal } as const;
        answer = await server.ask('/inspector/requests', options);
      } catch (error) {
        signal?.throwIfAborted();
        throw relayProblem(error);
      }
      return readRelayed(answer);
    },
  };
}

/**
 * Converts an error of `parley inspect` to a ConnectionError, so that it is not mistaken for an answer of the agent.
 */
function relayProblem(error: unknown): ConnectionError {
  leaveIfRefused(error);
  const isAnswer = error instanceof A2AError;
  const reason = isAnswer && error.kind === 'forbidden' ? 'untrusted' : 'unreachable';
  const silence = 'parley inspect does not answer: is it still running?';
  return new ConnectionError(reason, isAnswer ? error.message : silence);
}

async function readRelayed(answer: Response): Promise<SentResponse> {
  const lines = relayLines(answer);
  const first = (await lines.next()).value;
  if (first === undefined || !('response' in first)) throw endOf(first);
  const { status, statusText, headers } = first.response;
  const empty = status === 204 || status === 205 || status === 304;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { value: line } = await lines.next();
        if (line && 'bytes' in line) controller.enqueue(bytesOf(line.bytes));
        else if (line && 'end' in line) controller.close();
        else throw endOf(line);
      },
      cancel: async () => void (await lines.return(undefined)),
    },
    { highWaterMark: 0 },
  );
  if (empty) await lines.return(undefined);
  // `Response` refuses some characters in a status text. A text with such a character is left out.
  const text = /^[\t\x20-\x7e]*$/.test(statusText) ? statusText : '';
  const response = new Response(empty ? null : body, { status, statusText: text, headers });
  return { response, headers };
}

function endOf(line: RelayLine | undefined): ConnectionError {
  if (!line || !('error' in line)) {
    return new ConnectionError('broken', 'parley inspect ended the response');
  }
  const { reason, message } = line.error;
  return new ConnectionError(reason === 'limit' ? 'broken' : reason, message);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

async function* relayLines(answer: Response): AsyncGenerator<RelayLine, undefined> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return undefined;
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      const texts = (rest + value).split('\n');
      rest = texts.pop() ?? '';
      for (const text of texts) yield RelayLine.parse(JSON.parse(text));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
