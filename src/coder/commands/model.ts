/** /model: shows or sets the model of this session. */
import { ModelError } from '../../agent/index.ts';
import { MODEL_KEY } from '../session/session-model.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import { argument, CommandError, type CoderCommand } from './command.ts';

export const modelCommand: CoderCommand = {
  name: 'model',
  description: 'Shows or sets the model of this session.',
  arguments: [
    argument('NAME', 'The model, written as for --model: google:NAME, offline, …', false),
  ],
  changes: (name) => name !== '',
  async *run(name, { agent, run }) {
    const { state } = run;
    if (name === '') {
      const { name: current } = agent.modelOf((key) => state.get(key));
      const others = agent.models.filter((each) => each !== current);
      yield `The model is ${current}.`;
      if (others.length > 0) yield ` Other models: ${others.join(', ')}.`;
      return;
    }
    if (name !== agent.model.name) await check(name, agent, run.signal);
    state.set(MODEL_KEY, name === agent.model.name ? null : name);
    yield `The model of this session is now ${name}.`;
  },
};

async function check(
  name: string,
  agent: Pick<WorkspaceAgent, 'resolve'>,
  signal: AbortSignal,
): Promise<void> {
  // A scripted model reads a file on the server, and clients may not select files there.
  if (name.startsWith('scripted'))
    throw new CommandError('A scripted model can only be set when Parley starts.');
  try {
    const model = agent.resolve(name);
    model.check?.();
    await model.checkName?.(signal);
  } catch (error) {
    if (error instanceof ModelError) throw new CommandError(error.message);
    throw error;
  }
}
