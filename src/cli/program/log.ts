/**
 * The log: JSON lines on standard error, or in a file while the terminal shows the UI. Pino is loaded when the first
 * line is written, because most runs of the program log nothing.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { printableJson } from '../../base/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { usageError } from './exit.ts';
import type { Environment } from './flags.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type Level = keyof Logger;

/** Fields whose values are redacted at the top level of a log line and one level below. */
const SECRETS = ['authorization', 'token', 'credentials', 'secret', 'secretKey', 'password'];

export interface ServerLog extends Logger {
  /** Resolves when everything that was logged has been written. */
  flush(): Promise<void>;
}

/** Help for PARLEY_LOG_LEVEL. */
export const LOG_LEVEL_HELP = 'trace, debug, info, warn (the default), error, fatal or silent.';
/** The name of the log file in the data folder. */
export const LOG_FILE = 'parley.log';
/** Maximum size of the log file. If a new line would exceed it, the file is first renamed to `parley.log.1`. */
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
    const base = file === undefined ? {} : { pid: process.pid };
    const write = file === undefined ? standardError(pino) : logFile(file);
    // A line may contain text from a peer, so control characters are escaped for people who read the log in a terminal.
    const lines = { write: (line: string) => write(printableJson(line)) };
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

/** Returns a function that writes a line. A write is synchronous, so that no line is lost when the process ends. */
function standardError(pino: typeof import('pino').default): (line: string) => void {
  const destination = pino.destination({ fd: 2, sync: true });
  // A line that cannot be written must not end the program.
  destination.on('error', () => undefined);
  return (line) => destination.write(line);
}

/**
 * Returns a function that synchronously writes a line to a file. Several processes may share the file, and each of them
 * may rename it. So the file is opened again for each line. If two processes rename the file at the same time, the
 * earlier lines may be lost.
 */
function logFile(file: string): (line: string) => void {
  return (line) => {
    const bytes = Buffer.from(line);
    try {
      if (append(file, bytes, MAX_FILE_BYTES)) return;
      try {
        renameSync(file, `${file}.1`);
      } finally {
        // If the file cannot be renamed, it may exceed the maximum size.
        append(file, bytes, Infinity);
      }
    } catch {
      // A full disk must not end the program.
    }
  };
}

/** Appends to the file. If it is not empty and would become larger than `max`, writes nothing and returns false. */
function append(file: string, bytes: Buffer, max: number): boolean {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const descriptor = openSync(file, 'a', 0o600);
  try {
    const { size } = fstatSync(descriptor);
    if (size > 0 && size + bytes.length > max) return false;
    writeSync(descriptor, bytes);
    return true;
  } finally {
    closeSync(descriptor);
  }
}
