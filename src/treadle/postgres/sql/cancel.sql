-- End a queued item as cancelled or ask a running one to stop; null when it had ended or is unknown.
select treadle.cancel_work_item(%(id)s) as status
