/**
 * Notices for the person who runs the agent, about the model and the MCP servers. They are not part of the session.
 * They never leave the process, because they may contain details that other clients must not see.
 */
export type OwnerNotice =
  | {
      readonly kind: 'notice';
      readonly level: 'info' | 'error';
      readonly text: string;
      /** A link to show with the text, and the rows of its QR code, in which dark modules are true. */
      readonly link?: { readonly url: string; readonly code: readonly (readonly boolean[])[] };
    }
  /** The request to the model failed and will be sent again. `retryAt` is in milliseconds since 1970. */
  | { readonly kind: 'retry'; readonly text: string; readonly retryAt: number };

/**
 * Calls the listener with the notices that no listener has received yet, and then with each new notice. Returns a
 * function that removes the listener.
 */
export type OwnerNotices = (listener: (notice: OwnerNotice) => void) => () => void;
