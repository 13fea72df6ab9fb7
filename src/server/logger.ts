/** Where causes go. Any pino logger fits. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

function print(level: string): (fields: object, message: string) => void {
  return (fields, message) => {
    console.error(`parley ${level}: ${message}`, fields);
  };
}

/** The default: what went wrong goes to standard error, the rest nowhere. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: print('warning'),
  error: print('error'),
};
