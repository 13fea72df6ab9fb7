/** /approval: shows or sets what is asked before it is done, for this session. */
import { MODE_KEY } from '../guard.ts';
import { ApprovalMode } from '../settings/schema.ts';
import { argument, CommandError, type Command, type CommandContext } from './command.ts';

const MEANINGS: Readonly<Record<ApprovalMode, string>> = {
  ask: 'every change is asked about',
  'auto-edit': 'files are edited without asking',
  yolo: 'nothing is asked',
  plan: 'nothing is changed or run',
};

export const approvalCommand: Command = {
  name: 'approval',
  description: 'Shows or sets what is asked before it is done: ask, auto-edit, yolo or plan.',
  arguments: [argument('MODE', 'ask, auto-edit, yolo or plan.', false)],
  async *run(wanted, context) {
    if (wanted === '') {
      const mode = modeOf(context);
      yield `The mode is ${mode}: ${MEANINGS[mode]}.`;
      return;
    }
    const mode = ApprovalMode.safeParse(wanted).data;
    if (mode === undefined) {
      throw new CommandError(
        `There is no mode ${wanted}; there are ${Object.keys(MEANINGS).join(', ')}`,
      );
    }
    if (mode === 'yolo' && !context.allowYolo && context.seat.mode !== 'yolo') {
      throw new CommandError(
        'yolo is not allowed on this server; start it with --approval yolo or --allow-auto-execute',
      );
    }
    context.run.state.set(MODE_KEY, mode);
    yield `From now on the mode of this session is ${mode}: ${MEANINGS[mode]}.`;
  },
};

/** The session's, as the guard sees it. */
export function modeOf({ run, seat }: CommandContext): ApprovalMode {
  return ApprovalMode.safeParse(run.state.get(MODE_KEY)).data ?? seat.mode;
}
