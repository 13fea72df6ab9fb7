/** /approvals: lists which calls were allowed or rejected, by whom, from where and when. */
import { approvalLine, approvalsIn } from '../approval/approvals.ts';
import type { CoderCommand } from './command.ts';

/** Maximum number of listed approvals. `parley export` prints all of them. */
const MAX_LISTED = 100;

export const approvalsCommand: CoderCommand = {
  name: 'approvals',
  description: 'Lists who allowed or rejected which call in this session, from where and when.',
  async *run(_args, { run }) {
    const all = approvalsIn(run.events);
    if (all.length === 0) {
      yield 'No call has needed an approval in this session yet.';
      return;
    }
    const shown = all.slice(-MAX_LISTED);
    const left = all.length - shown.length;
    if (left > 0) yield `${left} earlier approvals are not shown; parley export prints them.\n`;
    // The list is a code block, because Markdown could hide a part of a call. No text in a line can end the code block.
    yield ['```', ...shown.map(approvalLine), '```'].join('\n');
  },
};
