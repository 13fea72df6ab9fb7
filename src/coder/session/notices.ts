/** The texts of the notices for the person who runs the program. Other clients do not get these notices. */
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

export function retryNotice(error: ModelError, delayMs: number): OwnerNotice {
  return { kind: 'retry', text: error.message, retryAt: Date.now() + delayMs };
}

export function filesRefused(model: string, isLive: boolean): OwnerNotice {
  return problemNotice(
    `${model} does not accept an image or file of this conversation, so it was left out. To include it, choose another model with ${isLive ? '/model' : '--model'}.`,
  );
}

export function compactionFailed(error: unknown): OwnerNotice {
  return problemNotice(`The conversation could not be summarized: ${reasonOf(error)}`);
}

export function helperFailed(reason: string): OwnerNotice {
  return problemNotice(`A helper failed: ${reason}`);
}

export function hookFailed(event: string, command: string, problem: string): OwnerNotice {
  return problemNotice(`The ${event} hook "${shorten(command, 80)}" failed: ${problem}`);
}

export function hookRemark(tool: string, remark: string): OwnerNotice {
  return { kind: 'notice', level: 'info', text: `A hook after ${tool} says: ${remark}` };
}

/** Returns the notice about an ignored file of a command, a helper or a skill. */
export function ignoredFile(reason: string): OwnerNotice {
  return problemNotice(`${reason}.`);
}

export function noCheckpoints(workspace: string, reason: string): OwnerNotice {
  return problemNotice(
    `There are no checkpoints in ${workspace}: ${reason}. /restore cannot undo the changes.`,
  );
}

export function checkpointFailed(change: string, reason: string): OwnerNotice {
  return problemNotice(
    `No checkpoint was taken before "${change}": ${reason}. /restore cannot undo it.`,
  );
}

export function smallContextWindow(model: string, tokens: number): OwnerNotice {
  const next = model.startsWith('ollama:')
    ? 'Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in a Modelfile.'
    : 'Load the model with a larger context length.';
  return problemNotice(
    `${model} has a context window of only ${tokens} tokens, so it soon forgets what it has read. ${next}`,
  );
}

export function noPrice(model: string): OwnerNotice {
  return problemNotice(`limits.maxCostUsd has no effect: the price of ${model} is unknown.`);
}

/** Returns the notice about an unavailable server. `inSettings` is false if a client has added the server. */
export function mcpUnavailable(name: string, reason: string, inSettings: boolean): OwnerNotice {
  const known = `the MCP server ${name} `;
  const what = reason.startsWith(known) ? reason : `${known}is unavailable: ${reason}`;
  const isLogin = reason.includes('parley mcp login');
  const next = inSettings && !isLogin ? ` Check mcpServers.${name} in settings.json.` : '';
  return problemNotice(
    `${what.charAt(0).toUpperCase()}${what.slice(1)}. Its tools are missing.${next} /mcp shows its state.`,
  );
}

export function mcpAvailable(name: string): OwnerNotice {
  return { kind: 'notice', level: 'info', text: `The MCP server ${name} is available now.` };
}

function problemNotice(text: string): OwnerNotice {
  return { kind: 'notice', level: 'error', text };
}
