/** `parley sessions`: lists the stored sessions of the coding agent. */
import type { Session } from '../../agent/index.ts';
import { defineCommand } from '../program/command.ts';
import { option, toggle, wholeNumber } from '../program/flags.ts';
import { timeOf } from '../program/render.ts';
import {
  LOCAL_USER,
  SESSION_FLAGS,
  sessionTitle,
  storedSessions,
  usedSessions,
  workspaceOf,
} from '../coder/stored-sessions.ts';
import { dim, note, say, sayJson, word } from '../program/terminal.ts';

const DEFAULT_LIMIT = '20';
const MAX_LIMIT = 1000;

export default defineCommand({
  about: 'Lists the sessions of the coding agent, the most recent first.',
  flags: {
    limit: option('N', `The maximum number of sessions; ${DEFAULT_LIMIT} by default.`),
    ...SESSION_FLAGS,
    json: toggle('Print one JSON object per line.'),
  },
  examples: ['parley sessions', 'parley sessions --json --limit 100'],

  async run({ values, environment }) {
    const limit = wholeNumber('--limit', values.limit ?? DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
    const store = await storedSessions(values, environment);
    try {
      let shown = 0;
      const found = store ? usedSessions(store, values.user ?? LOCAL_USER, limit) : [];
      for await (const session of found) {
        show(session, values.json);
        shown++;
      }
      if (shown === 0 && !values.json) note('There are no sessions yet.');
    } finally {
      await store?.close();
    }
  },
});

function show(session: Session, json: boolean): void {
  const { id, createdAt, updatedAt } = session;
  const workspace = workspaceOf(session);
  const title = sessionTitle(session);
  if (json) {
    const times = { createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
    sayJson({ id, ...times, workspace, title });
    return;
  }
  say(`${id}  ${dim(timeOf(isoTime(updatedAt)))}  ${word(workspace ?? '–')}  ${title}`);
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}
