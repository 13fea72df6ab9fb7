/** Code that the server commands share: flags, signing keys, spans, the ready line, and the end of the process. */
import path from 'node:path';
import { isExposed } from '../../base/files/index.ts';
import {
  openSigningKeys,
  readSigningKeys,
  SigningKeyError,
  type SigningKeys,
} from '../../base/signing/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { networkGuard } from '../../base/net/index.ts';
import type { Listening } from '../../server.ts';
import { isLoopback, reasonOf, systemCode } from '../../base/index.ts';
import { usageError } from './exit.ts';
import { choice, type Environment, option, toggle } from './flags.ts';
import { dataFolder } from './folders.ts';
import { GRPC_FLAGS } from './listen.ts';
import type { ServerLog } from './log.ts';
import { onProcessEnd } from './process-end.ts';
import { VERSION } from './product.ts';
import { TLS_FLAGS } from './tls-flags.ts';
import { bold, cyan, dim, note, say, sayJson } from './terminal.ts';

/** The time for which tasks may continue after a signal, before they are stopped. Gateways can set another time. */
export const DRAIN_MS = 10_000;

export const SERVER_FLAGS = {
  lease: option(
    'SECONDS',
    'With --store postgres://…: if this server does not respond for this long, other servers take over its tasks; 10 by default.',
  ),
  durability: choice(
    'D',
    ['normal', 'full'],
    'normal (the default): data survives a crash of the process; full: data also survives a crash of the machine.',
  ),
  retention: option(
    'R',
    'How long finished tasks are kept: an age such as 30d or 12h, a maximum size of the store such as 2GB, both (30d,2GB), or the word off to keep them for ever. The default age is 30d. The default size is 2GB, or unlimited in PostgreSQL. The oldest tasks are removed first.',
  ),
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

const SIGNING_KEY_FILE = 'signing-key.pem';

export interface SigningSetup {
  /** The value of `--sign-key`. */
  readonly file?: string | undefined;
  /** Whether the server keeps its tasks in memory. If so, and without `file`, the key is not stored either. */
  readonly memory: boolean;
  readonly environment: Environment;
  readonly log: ServerLog;
}

/** Returns the `signing` option of `serve`. The result is empty if the server makes a new key for this process. */
export function serverSigning({ file, memory, environment, log }: SigningSetup): {
  readonly signing?: SigningKeys;
} {
  const used = (keyFile: string, signing: SigningKeys) => {
    if (isExposed(keyFile)) {
      log.warn(
        {},
        `other users have access to ${keyFile}, which has the private key of this server: run chmod 600 ${keyFile}`,
      );
    }
    return { signing };
  };
  try {
    if (file !== undefined) return used(file, readSigningKeys(file));
    if (memory) return {};
    const own = path.join(dataFolder(environment), SIGNING_KEY_FILE);
    return used(own, openSigningKeys(own));
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    if (file !== undefined) throw usageError(`--sign-key ${error.message}`, { cause: error });
    if (systemCode(error.cause) === undefined) {
      const next = 'restore the file, or delete it to get a new key';
      throw usageError(`${error.message}; ${next}`, { cause: error });
    }
    log.warn(
      {},
      `the signing key cannot be read or created (${error.message}). Until the next restart, the server signs webhooks with a temporary key. The server does not sign its agent cards, so clients that verify signatures refuse the cards: set PARLEY_HOME to a folder that this user may write, or set --sign-key`,
    );
    return {};
  }
}

/** Help for the variables that turn on spans. */
export const TRACING_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'The collector for spans, for example http://localhost:4318. If neither this variable nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, no spans are sent.',
} as const;

/**
 * Returns the tracer of `parley serve`, or undefined if tracing is off. The exporter is loaded only if a variable whose
 * name starts with `OTEL_` is set.
 */
export async function serverTracer(environment: Environment, logger: Pick<ServerLog, 'warn'>) {
  if (!Object.keys(environment).some((name) => name.startsWith('OTEL_'))) return undefined;
  const { createTracer, tracingOptions } = await import('../../base/tracing/export/index.ts');
  const options = tracingOptions({}, environment);
  return options && createTracer(options, { logger, service: 'parley', version: VERSION });
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
