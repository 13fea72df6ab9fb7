/**
 * Shows a task of an agent as a session that only this page has joined. An agent without the development-tool extension
 * answers with artifacts. Here, what an artifact adds becomes a message of the agent.
 */
import { createTextTracker } from '../../../client/index.ts';
import type { LiveClient, LiveItem } from '../../../live/client/index.ts';
import {
  ARTIFACT_NAME_KEY,
  isCoderAgentOutput,
  waitingCallsIn,
} from '../../../protocol/development-tool/index.ts';
import type { Artifact, Message, Part, StreamEvent, Task } from '../../../protocol/index.ts';

/** Names of artifacts that say nothing about their content. Most agents have one artifact with such a name. */
const USUAL_NAMES: ReadonlySet<string> = new Set(['answer', 'response', 'output', 'result']);

export class TaskItems {
  readonly #self: LiveClient;
  /** The name of the agent. */
  readonly #name: string;
  #added = createTextTracker();
  /** The artifacts whose text has begun, and the files and data of each artifact that have been shown. */
  #begun = new Set<string>();
  #shown = new Map<string, readonly Part[]>();

  constructor(self: LiveClient, name: string) {
    this.#self = self;
    this.#name = name;
  }

  /** Returns the item that shows the whole task. */
  snapshot(task: Task, seq: number): LiveItem {
    return {
      kind: 'snapshot',
      snapshot: {
        taskId: task.id,
        contextId: task.contextId,
        task,
        pending: waitingCallsIn(task),
        approval: '',
        model: '',
        workspace: this.#name,
        clients: [this.#self],
        seq,
      },
    };
  }

  /** Forgets what has been shown. Called before each stream, because a stream starts with the whole task. */
  restart(): void {
    this.#added = createTextTracker();
    this.#begun = new Set();
    this.#shown = new Map();
  }

  /** Returns the message with what the event adds to the artifacts, or undefined if it adds nothing that is shown. */
  addedBy(event: StreamEvent, id: string): Message | undefined {
    const text = this.#added(event);
    const artifact = event.kind === 'artifact-update' ? event.artifact : undefined;
    const append = event.kind === 'artifact-update' && event.append === true;
    const known = event.kind === 'task' ? (event.artifacts ?? []) : [];
    const changed = artifact ? [artifact] : known;
    const others = changed.flatMap((each) => this.#othersOf(each, append));
    const parts: Part[] = [...(text === '' ? [] : [this.#textPart(text, artifact)]), ...others];
    return parts.length === 0
      ? undefined
      : { kind: 'message', messageId: id, role: 'agent', parts };
  }

  #textPart(text: string, artifact: Artifact | undefined): Part {
    const isFirst = artifact !== undefined && !this.#begun.has(artifact.artifactId);
    if (artifact) this.#begun.add(artifact.artifactId);
    const name = isFirst ? nameOf(artifact) : undefined;
    return named({ kind: 'text', text }, name);
  }

  /** Returns the files and the data of an artifact that have not been shown. */
  #othersOf(artifact: Artifact, append: boolean): Part[] {
    const { artifactId, parts } = artifact;
    if (isCoderAgentOutput(artifactId)) return [];
    const others = parts.filter(({ kind }) => kind !== 'text');
    const before = this.#shown.get(artifactId) ?? [];
    this.#shown.set(artifactId, append ? [...before, ...others] : others);
    const name = nameOf(artifact);
    // An artifact that is sent again in whole repeats earlier parts.
    const isNew = (part: Part, at: number) =>
      append || !before[at] || JSON.stringify(before[at]) !== JSON.stringify(part);
    return others.filter(isNew).map((part) => named(part, name));
  }
}

function named(part: Part, name: string | undefined): Part {
  return name === undefined ? part : { ...part, metadata: { [ARTIFACT_NAME_KEY]: name } };
}

function nameOf({ name }: Artifact): string | undefined {
  return name === undefined || name === '' || USUAL_NAMES.has(name) ? undefined : name;
}
