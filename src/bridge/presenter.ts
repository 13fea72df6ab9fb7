/**
 * Converts a run to events for the client of a plain A2A agent: the answers, the saved artifacts, the questions and
 * the end of the run.
 */
import type { TaskState } from '../protocol/index.ts';
import type { ExecutorEvent } from '../tasks/index.ts';
import type { ArtifactContent, BlobPart, Event, Question } from '../agent/index.ts';
import { type ConverterOptions, toA2AParts } from './converter.ts';
import { questionMessage } from './question.ts';
import { createTranslation, type TurnArtifacts } from './translation.ts';
import type { TurnPresenter } from './turn.ts';
import { repeatedAnswer } from './views.ts';

interface PresenterOptions extends ConverterOptions {
  readonly artifacts: TurnArtifacts;
  /** The state of the task when the execution starts. */
  readonly state: TaskState;
  readonly loadArtifact: (name: string, version: number) => Promise<ArtifactContent | undefined>;
}

/** Maximum length of an answer in the status `completed`, in characters. A longer answer is only in its artifact. */
const MAX_FINAL_TEXT = 256 * 1024;

export function a2aPresenter(options: PresenterOptions): TurnPresenter {
  const { state, loadArtifact, artifacts, ...converter } = options;
  const translation = createTranslation(converter, artifacts);
  return {
    start: () => (state === 'working' ? [] : [{ kind: 'status-update', state: 'working' }]),
    async *present(event) {
      yield* translation.translate(event);
      for (const [name, version] of Object.entries(event.actions.artifactDelta ?? {})) {
        const content = await loadArtifact(name, version);
        if (content) yield saved(name, content);
      }
    },
    flush: () => translation.flush(),
    ask: asking,
    complete() {
      const text = translation.finalText();
      const fits = text !== '' && text.length <= MAX_FINAL_TEXT;
      const message = fits && { message: repeatedAnswer(text) };
      return { kind: 'status-update', state: 'completed', ...message };
    },
    fail(event) {
      throw new RunFailed(event);
    },
    lost: (message) => ({ kind: 'status-update', state: 'failed', message }),
  };
}

/** The error for the server's log, with the cause of a failed run. */
class RunFailed extends Error {
  override readonly name = 'RunFailed';
  constructor({ author, error }: Event) {
    super(`${author}: ${error?.code}: ${error?.message}`);
  }
}

function asking(questions: readonly Question[], problem?: string): ExecutorEvent {
  const auth = questions.every(({ kind }) => kind === 'auth');
  const state = auth ? 'auth-required' : 'input-required';
  return { kind: 'status-update', state, message: questionMessage(questions, problem) };
}

/**
 * Returns the event for a saved artifact. The content of the artifact is sent as a file. Even a text is sent as a file,
 * so that a client does not mistake it for a part of the answer.
 */
function saved(name: string, content: ArtifactContent): ExecutorEvent {
  const part = content.kind === 'text' ? asBlob(content.text) : content;
  const parts = toA2AParts([{ ...part, name: part.name ?? name }]);
  const artifact = { artifactId: `file-${name}`, name, parts };
  return { kind: 'artifact-update', artifact, lastChunk: true };
}

function asBlob(text: string): BlobPart {
  const data = Buffer.from(text).toString('base64');
  return { kind: 'blob', mediaType: 'text/plain', data };
}
