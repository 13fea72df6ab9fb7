/**
 * Gives the agent access to the files and the terminals that an ACP client offers.
 *
 * The client's answers are not trusted. Texts have a maximum length. Each request has a timeout, except the request
 * that waits for the end of a program. A client that does not answer in time gets no more requests in this turn,
 * because each of them would also wait for the timeout.
 */
import {
  methods,
  RequestError,
  type AgentContext,
  type ClientCapabilities,
  type ClientRequestMethod,
  type ClientRequestParamsByMethod,
} from '@agentclientprotocol/sdk';
import { BoundedMap, isObject, reasonOf } from '../base/index.ts';
import {
  EditorError,
  type EditorFiles,
  type EditorTerminal,
  type TerminalProgram,
} from '../live/client/editor/index.ts';
import type { Logger } from '../tasks/index.ts';

/** Maximum length of a text from the editor, in characters. If a text is longer, the file on disk is used. */
const MAX_TEXT = 10 * 1024 * 1024;
const TIMEOUT_MS = 15_000;
/**
 * The timeout of requests for which the client may ask a person for consent. These are requests to write a file or to
 * start a program.
 */
const CONSENT_MS = 2 * 60_000;
/** Maximum number of tool calls whose terminal ids are kept. */
const MAX_TERMINALS = 256;
const MAX_REASON = 300;

export interface ClientEditorOptions {
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly timeoutMs?: number | undefined;
}

/** How long to wait for an answer: until the signal `until` is aborted or, without `until`, for `timeoutMs`. */
interface Wait {
  readonly until?: AbortSignal;
  readonly timeoutMs?: number;
}

export type ClientEditor = ReturnType<typeof clientEditor>;

export function clientEditor(options: ClientEditorOptions) {
  const { client, capabilities, signal, logger, timeoutMs: defaultMs = TIMEOUT_MS } = options;
  /** The ids of the terminals, by call. */
  const terminals = new BoundedMap<string>(MAX_TERMINALS);
  let isSilent = false;
  const { fs, terminal: hasTerminals } = capabilities;
  const editor = {
    // The agent must read a file before each write, to check the file for changes. So a client that can only write
    // files is not used for files.
    files: fs?.readTextFile === true ? fileAccess(fs.writeTextFile === true) : undefined,
    terminals: hasTerminals === true ? { create } : undefined,
    /** The id of the session in ACP. Empty until the session is open. */
    sessionId: '',
    get available(): boolean {
      return editor.sessionId !== '' && !isSilent && !signal.aborted;
    },
    /** Allows requests again after a timeout. */
    retry(): void {
      isSilent = false;
    },
    /** Returns the id of the terminal in which a tool call runs or ran, or undefined if no terminal is known. */
    terminalOf(callId: string): string | undefined {
      // The terminals of a helper are stored under the ids of the helper's calls (`call_2`). In events, such an id
      // follows the id of the call that started the helper (`call_1/call_2`).
      const own = callId.slice(callId.lastIndexOf('/') + 1);
      return terminals.get(callId) ?? terminals.get(own);
    },
  };
  return editor;

  function fileAccess(writes: boolean): EditorFiles {
    const { readTextFile, writeTextFile } = methods.client.fs;
    return {
      read: async (path) => {
        const answer = await ask(readTextFile, { sessionId: editor.sessionId, path });
        const content = textIn(answer, 'content');
        if (content.length <= MAX_TEXT) return content;
        throw new EditorError('refused', 'the text is too long');
      },
      ...(writes && {
        write: async (path: string, content: string) => {
          const file = { sessionId: editor.sessionId, path, content };
          await ask(writeTextFile, file, { timeoutMs: CONSENT_MS });
        },
      }),
    };
  }

  async function create(program: TerminalProgram): Promise<EditorTerminal> {
    const { callId, command, args, cwd, environment, outputBytes } = program;
    const { sessionId } = editor;
    const { create: start, output, waitForExit, kill, release } = methods.client.terminal;
    const env = Object.entries(environment).map(([name, value]) => ({ name, value }));
    const started = { command, args: [...args], env, cwd, outputByteLimit: outputBytes };
    const created = await ask(start, { sessionId, ...started }, { timeoutMs: CONSENT_MS });
    const terminalId = textIn(created, 'terminalId');
    terminals.set(callId, terminalId);
    const terminal = { sessionId, terminalId };
    return {
      output: async () => {
        const answer = await ask(output, terminal);
        const all = textIn(answer, 'output');
        const text = all.slice(-outputBytes);
        return { text, truncated: answer['truncated'] === true || text.length < all.length };
      },
      exit: async (until) => {
        const { exitCode, signal: by } = await ask(waitForExit, terminal, { until });
        return {
          code: typeof exitCode === 'number' ? exitCode : null,
          signal: typeof by === 'string' ? by : null,
        };
      },
      kill: async () => void (await ask(kill, terminal)),
      release: async () => void (await ask(release, terminal)),
    };
  }

  /**
   * Sends a request, and returns the unchecked answer. Stops waiting when `until` is aborted or, if `until` is missing,
   * at the timeout. Also stops waiting when the client disconnects.
   */
  async function ask<Method extends ClientRequestMethod>(
    method: Method,
    params: ClientRequestParamsByMethod[Method],
    { until, timeoutMs = defaultMs }: Wait = {},
  ): Promise<Record<string, unknown>> {
    if (!editor.available) throw gone();
    const limit = until ?? AbortSignal.timeout(timeoutMs);
    const cancellationSignal = AbortSignal.any([signal, limit]);
    try {
      const how = { cancellationSignal, stopWaitingOnCancel: true };
      const answer: unknown = await client.request(method, params, how);
      return isObject(answer) ? answer : {};
    } catch (error) {
      if (until === undefined && limit.aborted) {
        isSilent = true;
        const message =
          'an editor does not answer: its files and terminals are not used for the rest of the turn';
        logger.warn({ method }, message);
      }
      if (cancellationSignal.aborted || !(error instanceof RequestError)) throw gone(error);
      throw new EditorError('refused', reasonOf(error).slice(0, MAX_REASON), { cause: error });
    }
  }
}

function textIn(answer: Record<string, unknown>, name: string): string {
  const text = answer[name];
  if (typeof text === 'string') return text;
  throw new EditorError('refused', `its answer has no ${name}`);
}

function gone(cause?: unknown): EditorError {
  return new EditorError('gone', 'the editor has not answered', { cause });
}
