/** The text of an answer: all at once, or as it comes. */
import { textOf, type Artifact, type SendResult, type StreamEvent } from '../protocol/index.ts';

/** A message's text; a task's artifacts' text or, where they have none, what its status says. */
export function answerText(answer: SendResult | undefined): string {
  if (answer === undefined) return '';
  if (answer.kind === 'message') return textOf(answer.parts);
  let text = '';
  for (const artifact of answer.artifacts ?? []) text += textOf(artifact.parts);
  return text === '' && answer.status.message ? textOf(answer.status.message.parts) : text;
}

/**
 * What each event adds to the text that was already given out. A snapshot, which a stream that was taken up again may
 * begin with, holds everything once more: only what is new in it counts.
 */
export function createTextTracker(): (event: StreamEvent) => string {
  const given = new Map<string, string>();

  function whole(artifact: Artifact): string {
    const text = textOf(artifact.parts);
    const before = given.get(artifact.artifactId) ?? '';
    given.set(artifact.artifactId, text);
    return text.startsWith(before) ? text.slice(before.length) : text;
  }

  return (event) => {
    if (event.kind === 'message') return textOf(event.parts);
    if (event.kind === 'task') {
      let text = '';
      for (const artifact of event.artifacts ?? []) text += whole(artifact);
      return text;
    }
    if (event.kind !== 'artifact-update') return '';
    if (event.append !== true) return whole(event.artifact);
    const { artifactId } = event.artifact;
    const text = textOf(event.artifact.parts);
    given.set(artifactId, (given.get(artifactId) ?? '') + text);
    return text;
  };
}
