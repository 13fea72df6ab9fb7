/** The texts of the notices for the person who runs the program. Clients over the network do not get these notices. */
import { reasonOf, shorten } from '../../base/index.ts';
import type { ModelError } from '../../agent/index.ts';
import type { OwnerNotice } from '../../live/client/index.ts';
import type { Logger } from '../../tasks/index.ts';

export type Notify = (notice: OwnerNotice) => void;

/** Writes the notices to the log. A retry is logged as information, because the request may still succeed. */
export function logNotices(logger: Logger): Notify {
  return (notice) => {
    if (notice.kind === 'retry') logger.info({ problem: notice.text }, 'retrying a model request');
    else if (notice.level === 'error')
      logger.warn({ problem: notice.text }, 'a problem for the operator');
    else logger.info({ note: notice.text }, 'a note for the operator');
  };
}

export const notices = {
  retry(error: ModelError, delayMs: number): OwnerNotice {
    return { kind: 'retry', text: error.message, retryAt: Date.now() + delayMs };
  },
  filesRefused: (model: string, isLive: boolean) =>
    problem(
      `${model} does not accept an image or file of this conversation, so it was left out. To include it, choose another model with ${isLive ? '/model' : '--model'}.`,
    ),
  compactionFailed: (error: unknown) =>
    problem(`The conversation could not be summarized: ${reasonOf(error)}`),
  helperFailed: (reason: string) => problem(`A helper failed: ${reason}`),
  hookFailed: (event: string, command: string, reason: string) =>
    problem(`The ${event} hook "${shorten(command, 80)}" failed: ${reason}`),
  hookRemark: (tool: string, remark: string) => note(`A hook after ${tool} says: ${remark}`),
  /** A file of a command, a helper or a skill is ignored. */
  ignoredFile: (reason: string) => problem(`${reason}.`),
  noCheckpoints: (workspace: string, reason: string) =>
    problem(
      `There are no checkpoints in ${workspace}: ${reason}. /restore cannot undo the changes.`,
    ),
  checkpointFailed: (change: string, reason: string) =>
    problem(`No checkpoint was taken before "${change}": ${reason}. /restore cannot undo it.`),
  smallContextWindow(model: string, tokens: number) {
    const next = model.startsWith('ollama:')
      ? 'Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in a Modelfile.'
      : 'Load the model with a larger context length.';
    return problem(
      `${model} has a context window of only ${tokens} tokens, so it soon forgets what it has read. ${next}`,
    );
  },
  noPrice: (model: string) =>
    problem(`limits.maxCostUsd has no effect: the price of ${model} is unknown.`),
  /** A server is unavailable. `inSettings` is false if a client has added the server. */
  mcpUnavailable(name: string, reason: string, inSettings: boolean) {
    const known = `the MCP server ${name} `;
    const what = reason.startsWith(known) ? reason : `${known}is unavailable: ${reason}`;
    const isLogin = reason.includes('parley mcp login');
    const next = inSettings && !isLogin ? ` Check mcpServers.${name} in settings.json.` : '';
    return problem(
      `${what.charAt(0).toUpperCase()}${what.slice(1)}. Its tools are missing.${next} /mcp shows its state.`,
    );
  },
  mcpAvailable: (name: string) => note(`The MCP server ${name} is available now.`),
};

function problem(text: string): OwnerNotice {
  return { kind: 'notice', level: 'error', text };
}

function note(text: string): OwnerNotice {
  return { kind: 'notice', level: 'info', text };
}
