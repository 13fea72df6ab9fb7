/** /compress: replaces the conversation with a summary. */
import { compact, runScopeOf } from '../../agent/internal/index.ts';
import { compactionFailed } from '../session/notices.ts';
import { APP } from '../session/workspace-agent.ts';
import { CommandError, type CoderCommand } from './command.ts';

export const compressCommand: CoderCommand = {
  name: 'compress',
  description: 'Replaces the conversation with a summary that the model writes.',
  async *run(_args, { agent, run }) {
    const model = agent.modelOf((key) => run.state.get(key));
    const { runId, branch } = run;
    const view = { agent: APP, runId, branch, include: 'default', model: model.name } as const;
    const made = await compact(runScopeOf(run), model, view, {
      atTokens: 0,
      keepEvents: 0,
      onFailure: (error) => agent.notify(compactionFailed(error)),
    });
    if (made === 'failed')
      throw new CommandError('The model returned no summary; try again later.');
    if (!made) {
      yield 'The conversation is too short for a summary.';
      return;
    }
    yield made;
    yield `A summary of ${made.actions.compaction?.summary.length ?? 0} characters replaces the conversation.`;
  },
};
