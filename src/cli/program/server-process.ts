/** What `parley serve` and `parley gateway` have in common: addresses, the ready line, and how a server's process ends. */
import { networkGuard } from '../../base/net/index.ts';
import { reasonOf } from '../../base/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import type { Listening } from '../../server.ts';
import { EXIT, usageError } from './exit.ts';
import { onInterrupt } from './interrupt.ts';
import type { ServerLog } from './log.ts';
import { VERSION } from './product.ts';
import { bold, complain, cyan, dim, note, say, sayJson } from './terminal.ts';

export const DEFAULT_HOST = '127.0.0.1';
/** How long executions may go on after a signal before they are cut off. */
export const DRAIN_MS = 10_000;

/** The values of `--allow-network`, each a network. */
export function networks(cidrs: readonly string[]): readonly string[] {
  try {
    networkGuard(cidrs);
    return cidrs;
  } catch (error) {
    throw usageError(`--allow-network: ${reasonOf(error)}`, { cause: error });
  }
}

export function publicUrl(text: string | undefined): { readonly publicUrl?: string } {
  if (text === undefined) return {};
  const url = URL.parse(text);
  if (!/^https?:$/.test(url?.protocol ?? '')) {
    throw usageError(`--public-url ${text}: write it with its scheme, as https://agent.example`);
  }
  // Everybody reads it on the card, and paths are added to it.
  if (url?.username || url?.password || /[?#]/.test(text)) {
    throw usageError('--public-url: leave out the name, the password, the query and the fragment');
  }
  return { publicUrl: text };
}

export interface Announcement {
  readonly listening: Listening;
  /** Who is ready. */
  readonly name: string;
  readonly store: Pick<TaskStore, 'name'>;
  readonly json: boolean;
  /** More for the object of `--json`. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** The one line on standard output that says that requests are served. */
export function announce({ listening, name, store, json, more }: Announcement): void {
  const { url, port } = listening;
  if (json) {
    const { pid } = process;
    sayJson({ ready: true, url, port, pid, store: store.name, version: VERSION, ...more });
    return;
  }
  say(`${bold(name)} is ready at ${cyan(url)} ${dim(`(${store.name} store, parley ${VERSION})`)}`);
}

/** The exit code of the signal that ends the server. A second one does not wait for the drain. */
export function untilSignal(log: ServerLog): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (code: number): void => {
      if (stopping) process.exit(EXIT.interrupted);
      stopping = true;
      resolve(code);
    };
    process.on('SIGTERM', () => stop(EXIT.done));
    onInterrupt(() => stop(EXIT.interrupted));
    // A slip in one agent's detached work must not take everybody's tasks down.
    process.on('unhandledRejection', (error) => {
      log.error({ err: error }, 'a rejection was not handled');
    });
    process.on('uncaughtException', (error) => {
      log.error({ err: error }, 'an error was not caught; the server ends');
      complain(`an error was not caught: ${reasonOf(error)}`);
      stop(EXIT.failed);
    });
  });
}

/** Tells a person what the end waits for. */
export function noteDrain(running: number, ms: number): void {
  if (running === 0 || !process.stderr.isTTY) return;
  const tasks = running === 1 ? '1 task' : `${running} tasks`;
  note(`Waiting up to ${ms / 1000} s for ${tasks}. Ctrl-C again stops now.`);
}
