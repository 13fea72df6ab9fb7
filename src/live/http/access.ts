/** The roles of clients that use the live session over HTTP. */
import { requirePromptRoles } from '../../coder/index.ts';
import { guardHandler, type RequestHandler } from '../../tasks/index.ts';

/** Wraps the handler for clients that call over HTTP, so that clients without the role `prompt` can only read. */
export function guardRoles(handler: RequestHandler): RequestHandler {
  return guardHandler(handler, ({ access }, { metadata }, { user }) => {
    if (access === 'write') requirePromptRoles(metadata, user);
  });
}
