/**
 * Loaded before the agent program: it starts V8 without its optimizing compiler to save memory, and this keeps it, to
 * see what it would give.
 */
const v8 = process.getBuiltinModule('node:v8');
const { setFlagsFromString } = v8;

v8.setFlagsFromString = (flags) => {
  if (flags !== '--no-opt') setFlagsFromString(flags);
};
