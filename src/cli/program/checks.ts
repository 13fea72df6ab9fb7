/** A list of things that were looked at: what is well, what to know, what is broken. */
import { EXIT } from './exit.ts';
import { bold, dim, green, red, say, sayJson, yellow } from './terminal.ts';

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'broken';
  /** What was found and, unless it is well, what to do. */
  readonly message: string;
}

const MARKS = { ok: () => green('✓'), warning: () => yellow('!'), broken: () => red('✗') };

export const ok = (name: string, message: string): Check => ({ name, status: 'ok', message });
export const warning = (name: string, message: string): Check => ({
  name,
  status: 'warning',
  message,
});
export const broken = (name: string, message: string): Check => ({
  name,
  status: 'broken',
  message,
});

/** Prints the checks. Returns the exit code: whether something is broken. */
export function printChecks(title: string, checks: readonly Check[], json: boolean): number {
  const bad = checks.filter(({ status }) => status === 'broken').length;
  if (json) {
    sayJson({ ok: bad === 0, checks });
  } else {
    const width = Math.max(...checks.map(({ name }) => name.length));
    say(bold(title));
    for (const { name, status, message } of checks) {
      say(`  ${MARKS[status]()} ${dim(name.padEnd(width))}  ${message}`);
    }
    const well = checks.every(({ status }) => status === 'ok');
    if (bad > 0) say(red(bad === 1 ? '1 problem.' : `${bad} problems.`));
    else say(green(well ? 'All is well.' : 'Nothing is broken.'));
  }
  return bad === 0 ? EXIT.done : EXIT.failed;
}
