/** /approval: shows or sets the approval mode of this session. */
import { mayChoose, MODE_KEY, modeOf } from '../approval/guard.ts';
import { ApprovalMode } from '../approval/rule.ts';
import { argument, CommandError, type CoderCommand, type CommandContext } from './command.ts';

const MEANINGS: Readonly<Record<ApprovalMode, string>> = {
  ask: 'the agent asks before file edits, network access, and commands that do more than read',
  'auto-edit': 'the agent edits files without asking',
  yolo: 'the agent asks only if a rule may deny a call',
  plan: 'the agent changes no files and runs no commands',
};

export const approvalCommand: CoderCommand = {
  name: 'approval',
  description: 'Shows or sets the approval mode: ask, auto-edit, yolo or plan.',
  arguments: [argument('MODE', 'ask, auto-edit, yolo or plan.', false)],
  changes: (mode) => mode !== '',
  async *run(wanted, context) {
    if (wanted === '') {
      const mode = modeIn(context);
      yield `The approval mode is ${mode}: ${MEANINGS[mode]}.`;
      return;
    }
    const mode = ApprovalMode.safeParse(wanted).data;
    if (mode === undefined) {
      throw new CommandError(
        `Unknown mode ${wanted}; use one of ${Object.keys(MEANINGS).join(', ')}`,
      );
    }
    if (!mayChoose(context.agent, mode)) throw new CommandError(refusal(mode, context));
    context.run.state.set(MODE_KEY, mode);
    yield `The approval mode of this session is now ${mode}: ${MEANINGS[mode]}.`;
  },
};

function refusal(mode: ApprovalMode, { agent }: CommandContext): string {
  if (agent.loosest !== 'plan') {
    return `${mode} is not allowed on this server; to allow it, start the server with --approval yolo or --allow-auto-execute`;
  }
  return `${mode} is not allowed on this server, which was started with --approval plan`;
}

/** Returns the approval mode of the session. */
export function modeIn({ run, agent }: CommandContext): ApprovalMode {
  return modeOf(agent, (key) => run.state.get(key));
}

/** Throws in plan mode. Called by commands that change files or the memory, which must not change in this mode. */
export function refuseInPlan(context: CommandContext): void {
  if (modeIn(context) === 'plan') {
    throw new CommandError(
      'In plan mode, files and the memory cannot be changed; use /approval to set another mode.',
    );
  }
}
