/** What people say instead of choosing. */
const YES = /^(?:y|yes|yep|yeah|ok|okay|sure|allow|approve|approved|proceed|go ahead|do it)[.!]*$/i;
const NO = /^(?:n|no|nope|deny|reject|cancel|stop|don['’]t)[.!]*$/i;

export function meansYes(text: string): boolean {
  return YES.test(text.trim());
}

export function meansNo(text: string): boolean {
  return NO.test(text.trim());
}
