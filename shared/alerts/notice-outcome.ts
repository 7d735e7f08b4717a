/**
 * Says what became of a notice on one channel, as its item records it. The notifier writes it, and the console shows
 * it.
 */

/**
 * `copy` says that an older version had reported the same event, and `healed` that the failure ended before it woke
 * people, so that only the hourly digest counts it. `acknowledged` says that a person had acknowledged the incident. A notice without an outcome waits.
 */
export type NoticeOutcome = 'reported' | 'refused' | 'copy' | 'healed' | 'acknowledged';
