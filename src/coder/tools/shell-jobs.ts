/**
 * shell_jobs: lists the background jobs, returns the new output of a job, or stops a job. The command of each job was
 * approved or allowed when it was started, so shell_jobs needs no approval.
 */
import type { JsonObject } from '../../base/index.ts';
import * as z from 'zod';
import { ToolError } from '../../agent/index.ts';
import type { Job, Shell } from '../shell/shell.ts';
import type { CoderTool } from './tool.ts';
import { defineTool, respond } from './define-tool.ts';
import { endOf } from './run-shell-command.ts';

const Arguments = z.strictObject({
  job: z.string().max(64).optional().describe('The id of a job. Without it, all jobs are listed.'),
  stop: z.boolean().optional().describe('Stop the job and all processes that it started.'),
});

const DESCRIPTION = `Manages the background jobs of run_shell_command. Without arguments, it lists the jobs. With "job", \
it returns the output of this job since the last call, and the exit code if the job has ended. With "stop", it stops the \
job first.`;

export function shellJobsTool(shell: Shell): CoderTool {
  function find(id: string): Job {
    const jobs = shell.jobs();
    const job = jobs.find((one) => one.id === id);
    if (job) return job;
    const known = jobs.map((one) => one.id).join(', ');
    throw new ToolError(
      'not_found',
      `there is no job "${id}"; ${known ? `the jobs are ${known}` : 'no job was started'}`,
    );
  }

  return defineTool({
    name: 'shell_jobs',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    // The order of calls matters, because a call may stop a job, and each call returns only the new output.
    sequential: true,
    files: () => [],
    describe({ job, stop }) {
      if (job === undefined) return 'List background jobs';
      return stop ? `Stop ${job}` : `Read the output of ${job}`;
    },
    async run({ job: id, stop }) {
      if (id === undefined) {
        if (stop) throw new ToolError('invalid_arguments', '"stop" needs the id of a job in "job"');
        return { jobs: shell.jobs().map(summary) };
      }
      const job = find(id);
      if (stop) await job.stop();
      const output = job.read();
      return respond({ ...summary(job), output }, output);
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
