/**
 * Stores prompts, so that the arrow keys find the prompts of earlier sessions. The file consists of JSON lines, with
 * the oldest prompt first.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { PromptHistory } from '../../tui/index.ts';

const FILE = 'prompts.jsonl';
const MAX_ENTRIES = 1000;
/** Maximum length of a stored prompt. Longer prompts are not stored. */
const MAX_CHARS = 20_000;

/** Opens the history. Ignores read and write errors, because the agent works without a history. */
export function openHistory(folder: string): PromptHistory {
  const file = path.join(folder, FILE);
  const entries = read(file);
  if (entries.length > MAX_ENTRIES) {
    entries.splice(0, entries.length - MAX_ENTRIES);
    attempt(() => writeFileSync(file, entries.map(line).join(''), { mode: 0o600 }));
  }
  let last = entries.at(-1);
  return {
    entries,
    add(prompt) {
      if (prompt === last || prompt.length > MAX_CHARS) return;
      last = prompt;
      attempt(() => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        appendFileSync(file, line(prompt), { mode: 0o600 });
      });
    },
  };
}

function line(prompt: string): string {
  return `${JSON.stringify(prompt)}\n`;
}

function read(file: string): string[] {
  let text = '';
  attempt(() => (text = readFileSync(file, 'utf8')));
  return text.split('\n').flatMap((each) => {
    let prompt: unknown;
    attempt(() => (prompt = each === '' ? undefined : JSON.parse(each)));
    return typeof prompt === 'string' ? [prompt] : [];
  });
}

function attempt(what: () => void): void {
  try {
    what();
  } catch {
    // The agent works without a history.
  }
}
