/** The interface for log messages of this program, and the default logger. */
import { inspect } from 'node:util';

/** Receives log messages. A pino logger implements this interface. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

function print(level: string): (fields: object, message: string) => void {
  return (fields, message) => {
    process.stderr.write(`parley ${level}: ${message} ${inspect(fields)}\n`);
  };
}

/** The default logger, which prints warnings and errors to standard error. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: print('warning'),
  error: print('error'),
};
