/** /model: shows the model, or takes another one for this session. */
import { ModelError, resolveModel } from '../../agent/index.ts';
import { MODEL_KEY } from '../session/session-model.ts';
import { argument, CommandError, type CoderCommand } from './command.ts';

export const modelCommand: CoderCommand = {
  name: 'model',
  description: 'Shows the model, or takes another one for this session.',
  arguments: [argument('NAME', 'As on the command line: google:NAME, offline, …', false)],
  async *run(name, { agent, run }) {
    const { state } = run;
    if (name === '') {
      yield `The model is ${agent.modelOf((key) => state.get(key)).name}.`;
      return;
    }
    if (name !== agent.model.name) check(name);
    state.set(MODEL_KEY, name === agent.model.name ? null : name);
    yield `From now on the model of this session is ${name}.`;
  },
};

function check(name: string): void {
  // A script is a file of the server's: not for clients to name.
  if (name.startsWith('scripted')) throw new CommandError('A script is chosen at the start only.');
  try {
    resolveModel(name, { checkKey: true });
  } catch (error) {
    if (error instanceof ModelError) throw new CommandError(error.message);
    throw error;
  }
}
