/**
 * The server's log: JSON lines on standard error. Pino is loaded with the first line that is written, because most
 * servers start without having anything to log.
 */
import type { Logger } from '../server/index.ts';
import { usageError } from './exit.ts';
import type { Environment } from './flags.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type Level = keyof Logger;

/** Fields whose names say that nobody else should see them. */
const SECRETS = ['authorization', 'token', 'credentials', 'secret', 'secretKey', 'password'];

export interface ServerLog extends Logger {
  /** Everything that was logged has been written. */
  flush(): Promise<void>;
}

export function createLog(environment: Environment): ServerLog {
  const level = environment['PARLEY_LOG_LEVEL'] || 'warn';
  const threshold = LEVELS.findIndex((known) => known === level);
  if (threshold < 0) {
    throw usageError(`PARLEY_LOG_LEVEL=${level} is no level: use one of ${LEVELS.join(', ')}`);
  }
  const waiting: ((logger: Logger) => void)[] = [];
  let logger: Logger | undefined;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    // In the bundle a CommonJS package has nothing but its default export.
    const { default: pino } = await import('pino');
    const paths = SECRETS.flatMap((name) => [name, `*.${name}`]);
    // Written at once, so that nothing is lost when the process ends.
    logger = pino({ level, redact: paths, base: {} }, pino.destination({ fd: 2, sync: true }));
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
