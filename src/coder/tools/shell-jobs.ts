/**
 * shell_jobs: what became of the commands that run in the background. It lists them, shows what one has printed since
 * the last look, and stops one. It touches nothing but what was allowed to run before, so it needs no approval.
 */
import type { JsonObject } from '../../base/index.ts';
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import type { Job, Shell } from '../shell/shell.ts';
import type { CoderTool, Display } from './tool.ts';
import { defineTool } from './define-tool.ts';
import { endOf } from './run-shell-command.ts';

const Arguments = z.strictObject({
  job: z.string().max(64).optional().describe('The id of one job. Without it all are listed.'),
  stop: z.boolean().optional().describe('End the job, with everything that it started.'),
});

const DESCRIPTION = `Looks after the background jobs of run_shell_command. Without arguments: lists them. With "job": \
what that job has printed since the last look, and its exit code once it has ended. With "stop": ends it first.`;

export function shellJobsTool(shell: Shell): CoderTool {
  function find(id: string): Job {
    const jobs = shell.jobs();
    const job = jobs.find((one) => one.id === id);
    if (job) return job;
    const known = jobs.map((one) => one.id).join(', ');
    throw new Error(
      `there is no job "${id}"; ${known ? `there are ${known}` : 'none was started'}`,
    );
  }

  return defineTool({
    name: 'shell_jobs',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe({ job, stop }) {
      if (job === undefined) return 'List background jobs';
      return stop ? `Stop ${job}` : `Look at ${job}`;
    },
    async run({ job: id, stop }) {
      if (id === undefined) {
        if (stop) throw new Error('which job is to be stopped? name it in "job"');
        return { jobs: shell.jobs().map(summary) };
      }
      const job = find(id);
      if (stop) await job.stop();
      const output = job.read();
      const display: Display = { text: output };
      return new RichResponse({ ...summary(job), output }, { display });
    },
  });
}

function summary(job: Job): JsonObject {
  const outcome = job.outcome();
  const { id, command } = job;
  return outcome
    ? { job: id, command, state: 'ended', ...endOf(outcome) }
    : { job: id, command, state: 'running' };
}
