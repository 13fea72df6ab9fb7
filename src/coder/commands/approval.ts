/** /approval: shows or sets what is asked before it is done, for this session. */
import type { Message } from '../../protocol/index.ts';
import { mayChoose, MODE_KEY, modeOf } from '../approval/guard.ts';
import { ApprovalMode } from '../approval/rule.ts';
import { argument, CommandError, type CoderCommand, type CommandContext } from './command.ts';
import { parseTyped } from './parse.ts';

const MEANINGS: Readonly<Record<ApprovalMode, string>> = {
  ask: 'every change is asked about',
  'auto-edit': 'files are edited without asking',
  yolo: 'nothing is asked',
  plan: 'nothing is changed or run',
};

export const approvalCommand: CoderCommand = {
  name: 'approval',
  description: 'Shows or sets what is asked before it is done: ask, auto-edit, yolo or plan.',
  arguments: [argument('MODE', 'ask, auto-edit, yolo or plan.', false)],
  async *run(wanted, context) {
    if (wanted === '') {
      const mode = modeIn(context);
      yield `The mode is ${mode}: ${MEANINGS[mode]}.`;
      return;
    }
    const mode = ApprovalMode.safeParse(wanted).data;
    if (mode === undefined) {
      throw new CommandError(
        `There is no mode ${wanted}; there are ${Object.keys(MEANINGS).join(', ')}`,
      );
    }
    if (!mayChoose(context.agent, mode)) throw new CommandError(refusal(mode, context));
    context.run.state.set(MODE_KEY, mode);
    yield `From now on the mode of this session is ${mode}: ${MEANINGS[mode]}.`;
  },
};

/** Whether the message sets the mode: that is for those to say who may also allow calls. */
export function setsApproval({ parts: [first] }: Message): boolean {
  if (first?.kind !== 'text') return false;
  const typed = parseTyped(first.text, [approvalCommand]);
  return typed.kind === 'command' && typed.args !== '';
}

function refusal(mode: ApprovalMode, { agent }: CommandContext): string {
  if (agent.loosest !== 'plan') {
    return `${mode} is not allowed on this server; start it with --approval yolo or --allow-auto-execute`;
  }
  return `${mode} is not allowed on this server, which was started with --approval plan`;
}

/** The session's, as the guard sees it. */
export function modeIn({ run, agent }: CommandContext): ApprovalMode {
  return modeOf(agent, (key) => run.state.get(key));
}

/** What a person tells the agent to change is not changed in plan mode either. */
export function refuseInPlan(context: CommandContext): void {
  if (modeIn(context) === 'plan') {
    throw new CommandError('This is plan mode, in which nothing is changed; see /approval.');
  }
}
