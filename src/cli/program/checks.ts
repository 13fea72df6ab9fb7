/** A list of checks with their results, for `parley doctor` and `parley card --verify`. */
import { EXIT } from './exit.ts';
import { indented, bold, dim, green, red, say, sayJson, yellow } from './terminal.ts';

export interface Finding {
  readonly status: 'ok' | 'warning' | 'broken';
  /** The result and, if there is a problem, a suggestion for the user. */
  readonly message: string;
}

export interface Check extends Finding {
  readonly name: string;
}

const MARKS = { ok: () => green('✓'), warning: () => yellow('!'), broken: () => red('✗') };

const finding = (status: Finding['status']) => (message: string) => ({ status, message });

export const ok = finding('ok');
export const warning = finding('warning');
export const broken = finding('broken');

/** Returns the check that has this name and this result. */
export function check(name: string, result: Finding): Check {
  return { name, ...result };
}

/** Prints the checks and returns the exit code: 1 if a check has the status `broken`, otherwise 0. */
export function printChecks(title: string, checks: readonly Check[], json: boolean): number {
  const bad = checks.filter(({ status }) => status === 'broken').length;
  if (json) {
    sayJson({ ok: bad === 0, checks });
  } else {
    say(bold(title));
    const rows = checks.map(({ name, status, message }) => [
      `${MARKS[status]()} ${dim(name)}`,
      message,
    ]);
    for (const line of indented(rows)) say(line);
    const allOk = checks.every(({ status }) => status === 'ok');
    if (bad > 0) say(red(bad === 1 ? '1 problem.' : `${bad} problems.`));
    else say(green(allOk ? 'Everything is OK.' : 'No problems, only warnings.'));
  }
  return bad === 0 ? EXIT.done : EXIT.failed;
}
