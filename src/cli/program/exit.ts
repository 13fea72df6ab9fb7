/** Exit codes, and the error that ends the program with one of them. */

export const EXIT = {
  done: 0,
  /** For example, the task failed, or the agent refused the request. */
  failed: 1,
  usage: 2,
  /** `parley -p`: a tool call needed an approval and was denied. */
  denied: 3,
  /** No connection: for example, the agent cannot be reached, or its card is invalid. */
  unreachable: 4,
  interrupted: 130,
} as const;

/** Ends the program with one line on standard error, which states the problem and the next step. */
export class ExitError extends Error {
  readonly code: number;

  constructor(code: number, line: string, options?: ErrorOptions) {
    super(line, options);
    this.name = 'ExitError';
    this.code = code;
  }
}

/** Returns the error for wrong usage, for example an unknown flag, an invalid value, or a port in use. */
export function usageError(line: string, options?: ErrorOptions): ExitError {
  return new ExitError(EXIT.usage, line, options);
}
