/**
 * Removes secrets from the memory that /proc shows as the environment and the arguments of this process.
 *
 * The environment of commands contains neither the API keys nor Parley's variables (coder/shell/environment.ts). But a
 * command may read `/proc/$PPID/environ`, which shows the environment with which this process was started, without
 * later changes. So the values are overwritten in this memory. `process.argv` keeps its values, because Node has a copy
 * of its own. `process.env` keeps its values, because each value is first copied to another place in memory
 * (`isHidden`).
 *
 * This helps only on Linux, and only for this process. The processes that started it have environments of their own,
 * which stay readable.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { hasProc } from '../../base/system/index.ts';
import { isSecret } from '../../coder/index.ts';

/** Flags whose value is a secret. The URL of `--store` may contain a password. */
const SECRET_FLAG = /^--(?:token|a2a-token|header|store)(?:=|$)/;
/** The positions of the addresses in /proc/self/stat, counted from the state, which is the third field. */
const ARGUMENTS = [45, 46] as const;
const ENVIRONMENT = [47, 48] as const;

/** Overwrites the secrets. Does nothing if the system does not allow it. */
export function hideOwnSecrets(): void {
  if (!hasProc) return;
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      blank(memory, fields, ENVIRONMENT, (entries) => entries.filter(isHidden));
      blank(memory, fields, ARGUMENTS, secretArguments);
    } finally {
      closeSync(memory);
    }
  } catch {
    // Some systems do not allow a process to write its own memory through /proc.
  }
}

function isHidden({ text }: Entry): boolean {
  const [name = ''] = text.split('=', 1);
  if (!isSecret(name)) return false;
  // An assignment copies the value to another place in memory, which the process uses from now on.
  const value = process.env[name];
  if (value !== undefined) process.env[name] = value;
  return true;
}

function secretArguments(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ text }, at) =>
    /^--[\w-]+=/.test(text)
      ? SECRET_FLAG.test(text)
      : SECRET_FLAG.test(entries[at - 1]?.text ?? ''),
  );
}

/** A text that ends with NUL, and its position. */
interface Entry {
  readonly text: string;
  readonly at: number;
}

/** Overwrites some of the texts between two addresses with NUL. */
function blank(
  memory: number,
  fields: readonly number[],
  [first, last]: readonly [number, number],
  choose: (entries: readonly Entry[]) => readonly Entry[],
): void {
  const [start = 0, end = 0] = [fields[first], fields[last]];
  if (!(start > 0 && end > start)) return;
  const bytes = Buffer.alloc(end - start);
  readSync(memory, bytes, 0, bytes.length, start);
  let at = start;
  const entries = bytes
    .toString('latin1')
    .split('\0')
    .map((text): Entry => {
      const entry = { text, at };
      at += text.length + 1;
      return entry;
    });
  for (const { text, at: place } of choose(entries)) {
    writeSync(memory, Buffer.alloc(text.length), 0, text.length, place);
  }
}
