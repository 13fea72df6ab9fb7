/**
 * The log: JSON lines on standard error, or in a file while the terminal shows the UI. Pino is loaded when the first
 * line is written, because most runs of the program log nothing.
 */
import { mkdir, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { printableJson } from '../../base/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { usageError } from './exit.ts';
import type { Environment } from './flags.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type Level = keyof Logger;

/** Fields whose values are redacted in log lines. */
const SECRETS = ['authorization', 'token', 'credentials', 'secret', 'secretKey', 'password'];

export interface ServerLog extends Logger {
  /** Resolves when everything that was logged has been written. */
  flush(): Promise<void>;
}

/** Help for PARLEY_LOG_LEVEL. */
export const LOG_LEVEL_HELP = 'trace, debug, info, warn (the default), error, fatal or silent.';
/** The name of the log file in the data folder. */
export const LOG_FILE = 'parley.log';
/** Maximum size of the log file. A larger file is renamed before the program writes its first line. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;

/** Creates a log on standard error or, if a file is given, in that file. */
export function createLog(environment: Environment, file?: string): ServerLog {
  const level = environment['PARLEY_LOG_LEVEL'] || 'warn';
  const threshold = LEVELS.findIndex((known) => known === level);
  if (threshold < 0) {
    throw usageError(`PARLEY_LOG_LEVEL=${level} is invalid: use one of ${LEVELS.join(', ')}`);
  }
  const waiting: ((logger: Logger) => void)[] = [];
  let logger: Logger | undefined;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    // In the bundle, a CommonJS package has only its default export.
    const { default: pino } = await import('pino');
    const paths = SECRETS.flatMap((name) => [name, `*.${name}`]);
    if (file !== undefined) await rotate(file);
    // Writes are synchronous, so that no line is lost when the process ends. Several processes may share the file.
    const to = file === undefined ? { fd: 2 } : { dest: file, append: true, mode: 0o600 };
    const base = file === undefined ? {} : { pid: process.pid };
    const destination = pino.destination({ ...to, sync: true });
    // A full disk must not end the program.
    destination.on('error', () => undefined);
    // A line may contain text from a peer, so control characters are escaped for people who read the log in a terminal.
    const lines = { write: (line: string) => destination.write(printableJson(line)) };
    logger = pino({ level, redact: paths, base }, lines);
    for (const write of waiting.splice(0)) write(logger);
  }

  const at = (name: Level): Logger[Level] => {
    if (LEVELS.indexOf(name) < threshold) return () => {};
    return (fields, message) => {
      if (logger) {
        logger[name](fields, message);
      } else {
        waiting.push((loaded) => loaded[name](fields, message));
        loading ??= load();
      }
    };
  };

  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    flush: () => loading ?? Promise.resolve(),
  };
}

async function rotate(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > MAX_FILE_BYTES) await rename(file, `${file}.1`).catch(() => undefined);
}
