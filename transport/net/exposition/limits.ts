/** Bounds of expositions that others wrote, with units. */

/** One line, in bytes. Help texts and sets of labels of real exporters stay below a tenth of it. */
export const LINE_BYTES_MAX = 16_384;

/** Names of metrics and of labels, in bytes. */
export const NAME_BYTES_MAX = 256;

/** One value of a label as it is written, in bytes. */
export const LABEL_VALUE_BYTES_MAX = 4_096;

/** Labels of one sample. */
export const LABELS_MAX = 64;

/** Samples of one metric that are read as numbers: 512 processors, the most that an agent shows, have 4,096. */
export const SAMPLES_OF_METRIC_MAX = 8_192;
