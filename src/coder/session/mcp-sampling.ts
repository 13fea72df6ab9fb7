/**
 * Lets an MCP server use the session's model. A person must approve each request, unless the approval mode or a rule
 * for `mcp_sampling__SERVER` allows or denies it. The tokens count as usage of the session.
 */
import { samplingTool, type Model, type Tool } from '../../agent/index.ts';
import { guarded, type GuardOptions } from '../approval/guard.ts';
import type { CoderTool } from '../tools/tool.ts';
import { noteCallUsage, type ReadState } from './usage.ts';

export interface McpSamplingOptions {
  readonly guard: GuardOptions;
  /** Returns the model of a session with this state. */
  readonly modelOf: (state: ReadState) => Model;
  /**
   * Called with the error if the model fails, because clients and the MCP server do not get the error. Must not throw.
   */
  readonly failed: (error: unknown) => void;
}

export function mcpSampling(server: string, { guard, modelOf, failed }: McpSamplingOptions): Tool {
  const description = `The MCP server ${server} asks the model to answer this request`;
  const asked = samplingTool({
    server,
    modelOf: ({ state }) => modelOf((key) => state.get(key)),
    used(model, usage, { agent, runId, callId, state }) {
      // The usage is recorded for a call of the main agent, because only these calls are in the session. If a helper
      // called the server's tool, the usage is recorded for the `task` call. The id of this call is the id of the
      // helper's run.
      const call = agent === guard.agent ? callId.slice(0, callId.lastIndexOf('/')) : runId;
      noteCallUsage(state, call, model, usage);
    },
  });
  const tool: CoderTool = {
    ...asked,
    async run(args, context) {
      try {
        return await asked.run(args, context);
      } catch (error) {
        if (!context.signal.aborted) failed(error);
        throw error;
      }
    },
    effect: 'network',
    describe: ({ max_tokens: tokens }) =>
      `${description} (at most ${JSON.stringify(tokens)} tokens)`,
    preview: () => ({ kind: 'generic', description }),
  };
  return guarded(tool, guard);
}
