/** Code that the server commands share: flags, the ready line, and the end of the process. */
import type { TaskStore } from '../../tasks/index.ts';
import { networkGuard } from '../../base/net/index.ts';
import type { Listening } from '../../server.ts';
import { isLoopback, reasonOf } from '../../base/index.ts';
import { usageError } from './exit.ts';
import { choice, option, toggle } from './flags.ts';
import { GRPC_FLAGS } from './listen.ts';
import type { ServerLog } from './log.ts';
import { onProcessEnd } from './process-end.ts';
import { VERSION } from './product.ts';
import { RETENTION_FLAG } from './store-location.ts';
import { TLS_FLAGS } from './tls-flags.ts';
import { bold, cyan, dim, note, say, sayJson } from './terminal.ts';

/** The time for which tasks may continue after a signal, before they are stopped. Gateways can set another time. */
export const DRAIN_MS = 10_000;

export const SERVER_FLAGS = {
  durability: choice(
    'D',
    ['normal', 'full'],
    'normal (the default): data survives a crash of the process; full: data also survives a crash of the machine.',
  ),
  retention: RETENTION_FLAG,
  'public-url': option('URL', 'The public address of this server, for agent cards.'),
  'sign-key': option(
    'FILE',
    'An Ed25519 private key (PEM or JWK) that signs webhooks and agent cards. By default, a key is made in the data folder; with --store memory, a temporary key signs only webhooks. If the file has several keys, the first one signs, and the public parts of all keys are published.',
  ),
  ...TLS_FLAGS,
  ...GRPC_FLAGS,
  json: toggle('When the server is ready, print its address as JSON.'),
} as const;

/** Checks the values of `--allow-network` and returns them. */
export function networks(cidrs: readonly string[]): readonly string[] {
  try {
    networkGuard(cidrs);
    return cidrs;
  } catch (error) {
    throw usageError(`--allow-network: ${reasonOf(error)}`, { cause: error });
  }
}

/** Logs a warning if other machines reach the server without encryption. */
export function warnUnencrypted(
  log: ServerLog,
  { host, tls, url }: { readonly host: string; readonly tls: unknown; readonly url: string },
): void {
  // With an https address in --public-url, a proxy encrypts the traffic.
  if (isLoopback(host) || tls !== undefined || url.startsWith('https:')) return;
  log.warn(
    { host },
    'the traffic of this server is not encrypted, so others in the network can read it: add --tls-cert and --tls-key',
  );
}

export interface Announcement {
  readonly listening: Listening;
  /** The name of the server. */
  readonly name: string;
  readonly store: Pick<TaskStore, 'name'>;
  readonly json: boolean;
  /** Additional fields of the object that `--json` prints. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Prints the ready line, the only line on standard output. */
export function announce({ listening, name, store, json, more }: Announcement): void {
  const { url, port, grpc } = listening;
  if (json) {
    const { pid } = process;
    const own = { ...(grpc !== undefined && { grpc }), ...more };
    sayJson({ ready: true, url, port, pid, store: store.name, version: VERSION, ...own });
    return;
  }
  say(`${bold(name)} is ready at ${cyan(url)} ${dim(`(${store.name} store, parley ${VERSION})`)}`);
}

/** Resolves with the exit code when a signal or an uncaught error ends the server. */
export function untilSignal(log: ServerLog): Promise<number> {
  return new Promise((resolve) => {
    onProcessEnd(log, resolve);
  });
}

/** If standard error is a terminal and tasks are running, prints that the server waits for them before it ends. */
export function noteDrain(running: number, ms: number): void {
  if (running === 0 || !process.stderr.isTTY) return;
  const tasks = running === 1 ? '1 task' : `${running} tasks`;
  note(`Waiting up to ${ms / 1000} s for ${tasks} to finish. Press Ctrl-C again to stop now.`);
}
