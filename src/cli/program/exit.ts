/** How the program ends: the exit codes of the contract, and the error that says one line and picks one of them. */

export const EXIT = {
  done: 0,
  /** The task failed, or the agent refused what was asked. */
  failed: 1,
  usage: 2,
  /** Something needed an approval that was refused, or that nobody could be asked for. */
  denied: 3,
  /** There is no connection to the agent. */
  unreachable: 4,
  interrupted: 130,
} as const;

/** Ends the program with one line on standard error. The line says what is wrong and what to do next. */
export class ExitError extends Error {
  readonly code: number;

  constructor(code: number, line: string, options?: ErrorOptions) {
    super(line, options);
    this.name = 'ExitError';
    this.code = code;
  }
}

/** What was asked for cannot be: a wrong flag, a wrong value, a port in use. */
export function usageError(line: string, options?: ErrorOptions): ExitError {
  return new ExitError(EXIT.usage, line, options);
}
