/**
 * The schemas of a peer's responses. They are the internal schemas with one exception: messages and artifacts may have
 * no parts. An empty last chunk is common and must not break a stream.
 */
import * as z from 'zod';
import { Artifact, Message, Part } from '../message.ts';
import { ListTasksResult } from '../params.ts';
import { Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent } from '../task.ts';

const parts = z.array(Part);
const message = Message.extend({ parts });
const artifact = Artifact.extend({ parts });
const status = TaskStatus.extend({ message: message.optional() });
const task = Task.extend({
  status,
  history: z.array(message).optional(),
  artifacts: z.array(artifact).optional(),
});
const sendResult = z.discriminatedUnion('kind', [task, message]);
const statusUpdate = TaskStatusUpdateEvent.extend({ status });
const artifactUpdate = TaskArtifactUpdateEvent.extend({ artifact });
const event = z.discriminatedUnion('kind', [task, message, statusUpdate, artifactUpdate]);
const page = ListTasksResult.extend({ tasks: z.array(task) });

export const RECEIVED = {
  parts,
  message,
  artifact,
  status,
  task,
  statusUpdate,
  artifactUpdate,
  sendResult,
  event,
  page,
};
