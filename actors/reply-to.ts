/** Where an answer goes: given by `ask`, opaque to behaviour. */
export type ReplyTo = number & { readonly __brand: 'ReplyTo' };
